"""C5 pipelined ring: blocks in pieces, so that sums fit into the cache.

Story   With a gigabyte of gradients a block is large, and so is the scratch that a ring
        reduce-scatter needs for what comes in. Send a segment of every block round at a time: it
        fits into the cache, and a rank can combine one while the next is under way.

Spec    An all-reduce like ring_allreduce, whose reduce-scatter sends at most `segment` elements at
        a time: first the first segments of all blocks, then the second ones, and so on; all ranks
        take part in every turn. The all-gather is in whole blocks. Blocks are cut as
        np.array_split does.

Size    15 lines; 25 minutes.

Budget  ring_pipelined: messages p * (p - 1) * (ceil(n / (p * segment)) + 1),
        elements 2 * (p - 1) * n, steps (p - 1) * (ceil(n / (p * segment)) + 1)

Predict Blocks of 12 elements, segments of 4: how many messages does each of 4 ranks send in the
        reduce-scatter? Write it into PREDICTION.

More    Start the receive of the next segment before you combine this one (Irecv). What does it
        gain on `collectives simulate allreduce segmented_ring`, where combining costs gamma?

collectives grade lessons/exercises/ring_pipelined.py
"""

PREDICTION = None


def ring_pipelined(comm, sendbuf, recvbuf, op, *, segment):
    raise NotImplementedError
