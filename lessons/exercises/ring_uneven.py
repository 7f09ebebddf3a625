"""C4 uneven ring: blocks of any sizes, empty ones too.

Story   The last shard of a model is shorter than the others, and some ranks have nothing at all.
        The ring does not mind, as long as each rank knows how long the block is that comes next.

Spec    `counts[r]` is the size of the block of rank r, the same list on all ranks.
        `uneven_reduce_scatter`: `sendbuf` (sum of counts) is this rank's vector and stays as it is;
        `recvbuf` gets block `rank` of the combination. `uneven_allgather`: `sendbuf` is this rank's
        block; `recvbuf` (sum of counts) gets all blocks in rank order. Must finish even if no send
        is buffered.

Size    12 lines each; 20 minutes.

Budget  uneven_reduce_scatter: messages p * (p - 1), elements p * (p - 1) * n, steps p - 1
        uneven_allgather: messages p * (p - 1), elements p * (p - 1) * n, steps p - 1
        (n elements per block, where all are equal)

Predict A vector of 7 elements is cut into 4 blocks as np.array_split does. How long is the last?
        Write it into PREDICTION.

More    All of the vector on one rank: how long does the ring take then, and which algorithm would
        be better?

collectives grade lessons/exercises/ring_uneven.py
"""

PREDICTION = None


def uneven_reduce_scatter(comm, sendbuf, recvbuf, op, counts):
    raise NotImplementedError


def uneven_allgather(comm, sendbuf, recvbuf, counts):
    raise NotImplementedError
