"""What all the others are compared with: training on one process, without communication."""

from __future__ import annotations

from typing import Any

import numpy as np

from collectives.comm import Array
from collectives.training.adam import Adam
from collectives.training.batches import batch_of
from collectives.training.model import MLP, forward_backward


def one_process(
    model: MLP,
    parameters: Array,
    data: tuple[Array, Array],
    *,
    steps: int,
    rows: int,
    rate: float = 1e-3,
) -> tuple[Array, list[float]]:
    """Return the parameters after some steps, and the loss before each of them.

    Examples
    --------
    >>> from collectives.training import digits
    >>> model = MLP((64, 16, 10))
    >>> _, losses = one_process(model, model.initial(), digits(), steps=30, rows=100, rate=0.01)
    >>> losses[0] > 2, losses[-1] < 1
    (True, True)
    """
    parameters, gradients = parameters.copy(), np.empty_like(parameters)
    adam, losses = Adam(parameters, parameters.size, rate=rate), []
    ends = np.cumsum([0, *model.sizes]).tolist()

    def place(vector: Array, layer: int) -> Array:
        return vector[ends[layer] : ends[layer + 1]]

    def ready(layer: int, gradient: Array) -> None:
        place(gradients, layer)[:] = gradient

    for step in range(steps):
        [(x, targets)] = batch_of(data, step, rows)
        losses.append(
            forward_backward(model, x, targets, rows, lambda i: place(parameters, i), ready)
        )
        adam.update([(parameters, gradients)])
    return parameters, losses


def tolerance(dtype: Any, *, steps: int, rate: float) -> float:
    """Return how far parameters and losses may be from those of one process.

    Ranks add up the same gradients in another order, which changes a sum by its rounding: eps
    times the size of what was added. Adam divides a gradient by its own size, so that what counts
    is the error relative to the gradient, and that is larger where the sum nearly cancels out.
    A step of Adam is about `rate` long; this allows a part sqrt(eps) of every step, which is
    rounding in sums that lose half of their digits. Wrong algorithms are far beyond it: one rank
    left out, or counted twice, changes every step by a part of about 1/p.

    Examples
    --------
    >>> f"{tolerance(np.float64, steps=20, rate=3e-3):.0e}"
    '9e-10'
    >>> f"{tolerance(np.float32, steps=20, rate=3e-3):.0e}"
    '2e-05'
    """
    return float(steps * rate * np.finfo(dtype).eps ** 0.5)
