"""H1 compress or not: half of the bytes, and how much of the sum?

Story   float16 numbers take half of the bytes of float32. But a sum in float16 loses what is small:
        2048 + 1 is 2048. A ring that sends its partial sums in float16 rounds at every hop, p - 1
        times. It can be done with two roundings: each number once, when it leaves, and the sum
        once.

Spec    `compressed_allreduce(comm, vector)`: `vector` is float32, n a multiple of p. Return the sum
        of all vectors as float32, the same bits on all ranks. Messages carry float16 (or anything
        of 2 bytes per number); the error of each element is at most that of two roundings, 2**-11
        of the numbers and 2**-11 of the sum. You may use the library's collectives, such as
        `from collectives import alltoall_pairwise, allgather_ring`.
        `same_sum(first, second, terms)`: `terms` are p lists of float32 numbers, `first` and
        `second` what two algorithms made of their sum, with additions in float32. Return whether
        they may be the same sum: each addition rounds by at most 2**-24 of what its terms' sizes
        add up to.

Size    8 lines and 3 lines; 25 minutes.

Budget  compressed_allreduce: 2 (p - 1) n numbers of 2 bytes, all ranks together: half of a
        float32 ring's bytes.

Predict 4096 ones are added one after the other in float16. What is the sum? Write it into
        PREDICTION.

More    int8 with one scale per block: how large is the error now? Plot it against p for the ring
        that rounds at every hop, and for yours.

collectives grade lessons/exercises/compress_or_not.py
"""

PREDICTION = None


def compressed_allreduce(comm, vector):
    raise NotImplementedError


def same_sum(first, second, terms):
    raise NotImplementedError
