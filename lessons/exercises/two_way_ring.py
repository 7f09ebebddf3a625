"""C6 two-way ring: half of the vector goes round to the right, half to the left.

Story   Links carry both directions at the same time, but the ring sends to the right only. Let one
        half of the vector go round each way: the bytes are the same, and each link direction
        carries half of them.

Spec    An all-reduce like ring_allreduce. Each rank sends to both neighbours, and no more to the
        one than to the other, but for the last elements where n is not divisible.

Size    20 lines; 20 minutes.

Budget  two_way_ring: messages 4 * p * (p - 1), elements 2 * (p - 1) * n, steps 4 * (p - 1)

Predict What share of the vector does a rank of 4 send to its right neighbour? Write it into
        PREDICTION.

More    Both rings at the same time (Isend and Irecv in both directions): how many steps are left on
        a machine with two ports per rank?

collectives grade lessons/exercises/two_way_ring.py
"""

PREDICTION = None


def two_way_ring(comm, sendbuf, recvbuf, op):
    raise NotImplementedError
