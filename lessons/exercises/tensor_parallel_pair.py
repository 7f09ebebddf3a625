"""G6 a pair of layers, split: one all-reduce in the forward pass, or two halves of it.

Story   relu(x A) B is a pair of layers, as in a transformer. Cut A into columns and B into rows:
        each rank has whole columns of x A, so relu can be applied to them, and a product that is
        one summand of the result. Tensor parallelism all-reduces these. If the rows of x and of the
        result are shared out too (sequence parallelism), an allgather before and a reduce-scatter
        after do the same, and nobody holds all rows of the result.

Spec    `tensor_parallel(comm, x, a, b)`: x is the same on all ranks, `a` this rank's columns of A,
        `b` its rows of B. Return relu(x A) B on every rank.
        `sequence_parallel(comm, x, a, b)`: x has this rank's rows of the input; all have as many.
        Return this rank's rows of relu(x A) B. relu(y) is np.maximum(y, 0). You may use the
        library's collectives; they want contiguous buffers and see them flat.

Size    5 lines and 8 lines; 20 minutes.

Budget  tensor_parallel: 2 (p - 1) elements of the output, all ranks together; sequence_parallel:
        (p - 1) of the input and (p - 1) of the output.

Predict Input and output are of one size. How many times the traffic of tensor_parallel is that of
        sequence_parallel? Write it into PREDICTION.

More    What has to be communicated in the backward pass of each?

collectives grade lessons/exercises/tensor_parallel_pair.py
"""

PREDICTION = None


def tensor_parallel(comm, x, a, b):
    raise NotImplementedError


def sequence_parallel(comm, x, a, b):
    raise NotImplementedError
