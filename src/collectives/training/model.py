"""The model: a small network, layer by layer, and one pass forward and backward through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from collectives.comm import Array
from collectives.gpu import to_host


@dataclass(frozen=True)
class MLP:
    """A multilayer perceptron: ``relu(x @ W + b)`` per layer, the last one without relu.

    It keeps no numbers. The parameters of a layer come as one flat array, W and then b, and so
    does their gradient, wherever they lie: it is a trainer's business who keeps what.

    Parameters
    ----------
    widths : tuple of int
        The numbers of inputs, of units in every hidden layer, and of classes.

    Examples
    --------
    >>> MLP((64, 32, 10)).sizes
    [2080, 330]
    """

    widths: tuple[int, ...]

    @property
    def sizes(self) -> list[int]:
        """How many parameters each layer has."""
        return [(inputs + 1) * outputs for inputs, outputs in pairwise(self.widths)]

    def initial(self, dtype: Any = np.float32, seed: int = 1) -> Array:
        """Return all parameters at the start, the same for the same seed.

        K. He et al., ICCV 2015, doi:10.1109/ICCV.2015.123: a variance of 2 over the inputs.
        """
        random, layers = np.random.default_rng(seed), []
        for inputs, outputs in pairwise(self.widths):
            layers += [random.normal(0, (2 / inputs) ** 0.5, inputs * outputs), np.zeros(outputs)]
        return np.concatenate(layers).astype(dtype)

    def forward(self, layer: int, parameters: Array, x: Array) -> Array:
        """Return what a layer makes of its input, (rows, inputs) to (rows, outputs)."""
        weights, bias = self._cut(layer, parameters)
        y: Array = x @ weights + bias
        return y if layer == len(self.widths) - 2 else np.maximum(y, 0)

    def backward(
        self, layer: int, parameters: Array, x: Array, error: Array
    ) -> tuple[Array, Array]:
        """Return the gradient of a layer's parameters, and the error of the layer before it.

        The error of a layer is the gradient of its ``x @ W + b``. Before layer 0 there is none,
        and what is returned is of no use.
        """
        gradient = np.empty_like(parameters)
        of_weights, of_bias = self._cut(layer, gradient)
        of_weights[...] = x.T @ error
        of_bias[...] = error.sum(axis=0)
        if layer == 0:
            return gradient, error
        weights, _ = self._cut(layer, parameters)
        return gradient, (error @ weights.T) * (x > 0)

    def _cut(self, layer: int, parameters: Array) -> tuple[Array, Array]:
        inputs, outputs = self.widths[layer : layer + 2]
        end = inputs * outputs
        return parameters[:end].reshape(inputs, outputs), parameters[end:]


def cross_entropy(scores: Array, targets: Array, rows: int) -> tuple[Array, Array]:
    """Return the loss and its gradient: this rank's part of the mean over `rows` rows.

    Dividing by the rows of all ranks, not by the own ones, is what makes the sum over ranks the
    mean over the whole batch, whether or not all ranks have the same number of rows.
    """
    scores = scores - scores.max(axis=1, keepdims=True)
    log_of_share = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    loss: Array = -(targets * log_of_share).sum() / rows
    return loss, (np.exp(log_of_share) - targets) / rows


def forward_backward(
    model: MLP,
    x: Array,
    targets: Array,
    rows: int,
    weights: Callable[[int], Array],
    ready: Callable[[int, Array], None],
) -> float:
    """Pass a batch through the model and back; return the loss.

    ``weights(layer)`` is asked for the parameters of a layer right before they are needed, twice
    in a pass, and nothing here holds on to them. ``ready(layer, gradient)`` is told each gradient
    as soon as it is there, the last layer's first.
    """
    depth = len(model.sizes)
    inputs = [x]
    for layer in range(depth):
        inputs.append(model.forward(layer, weights(layer), inputs[-1]))
    loss, error = cross_entropy(inputs.pop(), targets, rows)
    for layer in reversed(range(depth)):
        gradient, error = model.backward(layer, weights(layer), inputs.pop(), error)
        ready(layer, gradient)
        del gradient  # before the next one is made: where memory is short, one is enough
    return float(to_host(loss))
