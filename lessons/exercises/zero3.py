"""G5 ZeRO-3: a rank keeps its share of everything, and borrows a layer when it needs it.

Story   Now parameters are shared out too. A layer is gathered right before it is used, in the
        forward pass and again in the backward pass, and dropped right after. Its gradient goes
        through a reduce-scatter as soon as it is there; each rank updates its own part and sends it
        to nobody: the next forward pass will fetch it.

Spec    `zero3(comm, mine, x, targets, widths, rows, rate)`: a model MLP(widths), in float64.
        `mine` is this rank's shard: of each layer its part as np.array_split cuts the layer, one
        after the other. `x`, `targets` are this rank's rows of a batch of `rows` rows in all.
        Return the new shard, parameters - rate * gradient of the mean loss over all rows.
            from collectives.training import MLP        # MLP(tuple(widths)).sizes: per layer
            from collectives.training.model import forward_backward
            forward_backward(model, x, targets, rows, weights, ready)
        asks weights(layer) for a layer's parameters, twice, and calls ready(layer, gradient); its
        gradients are divided by `rows` already, so that their sum over ranks is the mean.

Size    20 lines; 40 minutes.

Budget  3 (p - 1) n elements, all ranks together, n parameters in all layers: two allgathers and a
        reduce-scatter.

Predict How many times the traffic of DDP is that? Write it into PREDICTION.

More    Gather the next layer while this one computes (prefetch): `Isend`, `Irecv`, or a thread.
        How many layers are whole on a rank then, at the same time?

collectives grade lessons/exercises/zero3.py
"""

PREDICTION = None


def zero3(comm, mine, x, targets, widths, rows, rate):
    raise NotImplementedError
