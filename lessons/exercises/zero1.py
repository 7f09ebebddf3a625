"""G3 ZeRO-1: each rank keeps the optimizer's state of its share only.

Story   An all-reduce is a reduce-scatter and an allgather. Between the two each rank has the
        complete gradient of its own block, and nobody else has it: so it alone updates these
        parameters, and it alone needs the optimizer's state for them. The allgather then brings
        parameters instead of gradients. Same bytes, less memory.

Spec    `zero1(comm, parameters, gradients, rate, decay)`: `parameters` (n numbers) are the same on
        all ranks; row s of `gradients` (steps, n) is this rank's gradient in step s. In each step
            momentum = decay * momentum + (mean of all ranks' gradients)
            parameters = parameters - rate * momentum
        beginning with a momentum of 0. Return [parameters, momentum], the parameters complete on
        all ranks, the momentum of this rank's shard only, which is at most ceil(n / p) long. Any
        n: shards as np.array_split makes them. You may use the library's collectives, which take
        counts: `reduce_scatter_ring(comm, sendbuf, recvbuf, counts=counts)`, `allgather_ring`.

Size    15 lines; 25 minutes.

Budget  steps * 2 (p - 1) n elements, all ranks together: what an all-reduce takes.

Predict 4 ranks, 1 000 000 parameters, Adam with two float32 numbers per parameter: how many bytes
        of optimizer state does a rank keep? Write it into PREDICTION.

More    Adam instead of momentum: `from collectives.training import Adam`. What does a rank keep
        now?

collectives grade lessons/exercises/zero1.py
"""

PREDICTION = None


def zero1(comm, parameters, gradients, rate, decay):
    raise NotImplementedError
