"""D1 recursive doubling: an all-reduce in log p steps, for short vectors.

Story   A short vector costs latency, not bytes. If two ranks exchange what they have, both know the
        sum of two; if they then exchange with another such pair, all four know the sum of four.

Spec    `sendbuf` (n elements) is this rank's vector and stays as it is; `recvbuf` (n elements) gets
        the combination of all vectors, on every rank. Any p: ranks beyond a power of two hand their
        vector to a neighbour first and get the total last. Must finish even if no send is buffered.

Size    20 lines; 25 minutes.

Budget  recursive_doubling: messages 2 ** floor(log2(p)) * (floor(log2(p)) - 2) + 2 * p,
        elements (2 ** floor(log2(p)) * (floor(log2(p)) - 2) + 2 * p) * n,
        steps floor(log2(p)) + 2 * (ceil(log2(p)) - floor(log2(p)))

Predict How many steps do 6 ranks need, the hand-over of the surplus ranks included? Write it into
        PREDICTION.

More    Why does the pattern of the dissemination barrier, which takes no hand-over, give no sum?

collectives grade lessons/exercises/recursive_doubling.py
"""

PREDICTION = None


def recursive_doubling(comm, sendbuf, recvbuf, op):
    raise NotImplementedError
