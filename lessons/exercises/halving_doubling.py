"""D2 halving and doubling: the ring's bytes with the tree's steps (R. Rabenseifner's algorithm).

Story   Recursive doubling sends the whole vector in every step. But a partner who will take care of
        one half from now on needs only that half: halve the vector and the distance in every step,
        and come back the same way.

Spec    An all-reduce like recursive_doubling: any p, any n; ranks beyond a power of two hand their
        vector to a neighbour first and get the total last.

Size    30 lines; 40 minutes.

Budget  halving_doubling: messages 2 ** floor(log2(p)) * 2 * (floor(log2(p)) - 1) + 2 * p,
        elements 2 * (p - 1) * n, steps 2 * ceil(log2(p))

Predict How many times its vector does each of 8 ranks send? Write it into PREDICTION.

More    Compare with the ring at 1 KB and at 100 MB on 64 ranks: `collectives simulate allreduce
        rabenseifner -p 64`.

collectives grade lessons/exercises/halving_doubling.py
"""

PREDICTION = None


def halving_doubling(comm, sendbuf, recvbuf, op):
    raise NotImplementedError
