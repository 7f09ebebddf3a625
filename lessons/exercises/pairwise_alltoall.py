"""E1 pairwise all-to-all: everybody has something for everybody, and nobody is a hot spot.

Story   Each rank has a block for each other rank. If all begin with rank 0, then rank 1 and so on,
        everybody waits for the same one. In a good schedule each step is a set of pairs: every
        rank sends one block and receives one.

Spec    `sendbuf` (p n elements): block i is for rank i. `recvbuf` (p n elements) gets in block i
        what rank i has for this rank; the own block too. Any p. Must finish even if no send is
        buffered.

Size    8 lines; 15 minutes.

Budget  pairwise_alltoall: messages p * (p - 1), elements p * (p - 1) * n, steps p - 1
        (n elements per block)

Predict How many messages does each of 8 ranks send? Write it into PREDICTION.

More    For p a power of two, rank XOR step makes pairs who exchange with each other. What does a
        schedule look like in which all begin with rank 0? `collectives simulate alltoall linear`

collectives grade lessons/exercises/pairwise_alltoall.py
"""

PREDICTION = None


def pairwise_alltoall(comm, sendbuf, recvbuf):
    raise NotImplementedError
