"""D3 reduce plus broadcast: an all-reduce of two trees, and what its root has to carry.

Story   To give everybody the total, collect it on one rank and tell the others. The meaning is that
        of an all-reduce; the price is another one. Count what the root sends.

Spec    `sendbuf` (n elements) is this rank's vector and stays as it is; `recvbuf` (n elements) gets
        the combination of all vectors, on every rank. Both phases are binomial trees.

Size    25 lines, most of them from B1 and B3; 15 minutes.

Budget  reduce_plus_bcast: messages 2 * (p - 1), elements 2 * (p - 1) * n, steps 2 * ceil(log2(p))
        and no rank sends more than ceil(log2(p)) * n elements

Predict How many times the vector does the root of 8 ranks send? Write it into PREDICTION.

More    In total it sends as much as a ring: 2 (p - 1) n. Why is the ring faster for long vectors?

collectives grade lessons/exercises/reduce_plus_bcast_tree.py
"""

PREDICTION = None


def reduce_plus_bcast(comm, sendbuf, recvbuf, op):
    raise NotImplementedError
