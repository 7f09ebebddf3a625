"""G4 ZeRO-2 with accumulation: less memory, and more traffic than you thought.

Story   Batches are often too large for a GPU: k micro-batches go through one after the other, and
        their gradients are added up. ZeRO-2 keeps gradients of the own shard only. So there is no
        room to add up the others', and every micro-batch needs its own reduce-scatter.

Spec    `zero2_accumulate(comm, gradients)`: row i of `gradients` (k, n) is this rank's gradient of
        micro-batch i. Return this rank's shard (as np.array_split cuts n) of the mean over all
        micro-batches and ranks. Between micro-batches a rank may keep its shard only. You may use
        `reduce_scatter_ring(comm, sendbuf, recvbuf, counts=counts)`.
        `traffic(n, p, k)`: the elements that a rank sends in one step of k micro-batches of a model
        of n parameters, as [DDP, ZeRO-1, ZeRO-2, ZeRO-3], averages over ranks. DDP and ZeRO-1 add
        up all gradients first. The grader counts what the trainers of this project send.

Size    8 lines and 3 lines; 20 minutes.

Budget  zero2_accumulate: k (p - 1) n elements, all ranks together.

Predict ZeRO-2 with 4 micro-batches per step: how many times the traffic of DDP? Write it into
        PREDICTION.

More    `python lessons/zero.py`. From which k on would you rather have the gradients' memory?

collectives grade lessons/exercises/zero2_accum.py
"""

PREDICTION = None


def zero2_accumulate(comm, gradients):
    raise NotImplementedError


def traffic(n, p, k):
    raise NotImplementedError
