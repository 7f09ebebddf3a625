"""Adam, as published: D. P. Kingma, J. Ba, ICLR 2015, arXiv:1412.6980, algorithm 1."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from collectives.comm import Array


class Adam:
    """The optimizer's state of n parameters: two running averages, of the size of n each.

    Every parameter is updated from its own numbers alone. So a rank that keeps the state of a
    share of the parameters can update that share, and gets the same bits as one that keeps all.
    """

    def __init__(
        self,
        like: Array,
        n: int,
        *,
        rate: float = 1e-3,
        decay: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
    ) -> None:
        self.mean, self.square = (np.zeros_like(like, shape=n) for _ in range(2))
        self.rate, self.decay, self.epsilon = rate, decay, epsilon
        self.steps = 0

    def update(self, pieces: Iterable[tuple[Array, Array]]) -> None:
        """Take one step, in place: `pieces` are parameters and their gradients, n in all."""
        self.steps += 1
        slow, slower = self.decay
        full, fuller = 1 - slow**self.steps, 1 - slower**self.steps  # the averages start at 0
        start = 0
        for parameters, gradients in pieces:
            where = slice(start, start + parameters.size)
            start += parameters.size
            mean, square = self.mean[where], self.square[where]
            mean[:] = slow * mean + (1 - slow) * gradients
            square[:] = slower * square + (1 - slower) * gradients * gradients
            parameters -= self.rate * (mean / full) / (np.sqrt(square / fuller) + self.epsilon)
