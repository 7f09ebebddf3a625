"""B4 scatter and gather: who holds what, when blocks differ in size.

Story   The root has a vector of p blocks, one for each rank; later it wants them back. Nobody
        promised that blocks are of one size: some may even be empty.

Spec    `counts[r]` is the size of the block of rank r, the same list on all ranks. `scatter`: the
        root's `sendbuf` holds all blocks, in rank order; each rank gets its own in `recvbuf`.
        `gather`: each rank's `sendbuf` is its block; the root gets all of them in `recvbuf`, in
        rank order. What is no result is not touched.

Size    10 lines each; 15 minutes.

Budget  scatter: messages p - 1, elements (p - 1) * n, steps p - 1   (n elements per block)
        gather: messages p - 1, elements (p - 1) * n, steps p - 1

Predict counts are 3, 0, 2. At which element of the vector does the block of rank 2 begin? Write it
        into PREDICTION.

More    A binomial tree takes log2(p) steps, but blocks travel several times. For which n does it
        pay? (`collectives simulate scatter binomial`)

collectives grade lessons/exercises/scatter_gather.py
"""

PREDICTION = None


def scatter(comm, sendbuf, recvbuf, root, counts):
    raise NotImplementedError


def gather(comm, sendbuf, recvbuf, root, counts):
    raise NotImplementedError
