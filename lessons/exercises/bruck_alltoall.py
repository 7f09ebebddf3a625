"""E2 Bruck all-to-all: few messages, in each of which many blocks travel along.

Story   p - 1 messages of a few bytes each cost p - 1 start-ups. Bruck's way: a block that has to go
        5 to the right goes 1 and then 4, together with all others that have a 1, or a 4, in the
        binary form of their distance.

Spec    As the pairwise all-to-all: block i of `sendbuf` is for rank i, block i of `recvbuf` is from
        rank i. All blocks are of n elements. Any p; must finish even if no send is buffered.

Size    15 lines; 25 minutes.

Budget  bruck_alltoall: messages p * ceil(log2(p)), steps ceil(log2(p)),
        elements p * n * sum(v // 2**t % 2 for v in range(p) for t in range(ceil(log2(p))))
        (n elements per block)

Predict How many blocks does each of 8 ranks send in all? Write it into PREDICTION.

More    From which block size on is pairwise faster, for 8 and for 64 ranks? `collectives simulate`
        draws both.

collectives grade lessons/exercises/bruck_alltoall.py
"""

PREDICTION = None


def bruck_alltoall(comm, sendbuf, recvbuf):
    raise NotImplementedError
