"""C1 ring all-gather: blocks travel round, and everybody keeps a copy.

Story   Every rank has one block, and all want all of them. Ranks sit in a ring; each talks to its
        right neighbour only and passes on what came from the left.

Spec    `sendbuf` (n elements) is this rank's block; `recvbuf` (p * n elements) gets all blocks in
        rank order, on every rank. Must finish even if no send is buffered.

Size    9 lines; 10 minutes.

Budget  ring_allgather: messages p * (p - 1), elements p * (p - 1) * n, steps p - 1

Predict Of 5 ranks, how many blocks does each send? Write it into PREDICTION.

More    Without copying: can the block that came in be sent on from where it lies in recvbuf?

collectives grade lessons/exercises/ring_allgather.py
"""

PREDICTION = None


def ring_allgather(comm, sendbuf, recvbuf):
    raise NotImplementedError
