"""ZeRO, stage 3: a rank keeps its shard of everything; what PyTorch calls fully sharded."""

from __future__ import annotations

from concurrent.futures import Future

import numpy as np

from collectives.comm import IN_PLACE, Array
from collectives.training.adam import Adam
from collectives.training.trainer import Trainer


class ZeRO3(Trainer):
    """Gather the parameters of a layer when they are needed, use them, and drop them.

    Per step of k micro-batches, in units of the model: k (p - 1) / p for gathering parameters in
    the forward pass, the same in the backward pass, and the same for the reduce-scatter of
    gradients. New parameters are not sent: they stay where they were computed.

    With overlap the next layer is gathered while one computes; then there are two at a time.
    """

    name = "ZeRO-3"
    by_layer = True

    def _start(self, parameters: Array, rate: float) -> None:
        self.parameters = np.empty_like(parameters, shape=self.mine)
        for bucket in self.buckets:
            self.parameters[bucket.shard] = parameters[bucket.own]
        self.gradients = np.zeros_like(self.parameters)
        self.adam = Adam(parameters, self.mine, rate=rate)
        layers = range(len(self.places))
        self.order = [*layers, *reversed(layers)]  # in which a pass needs them
        self.asked_for = 0
        self.ahead: Future[Array] | None = None

    def gather(self, layer: int) -> Array:
        bucket = self.bucket_of[layer]
        whole = np.empty_like(self.parameters, shape=bucket.size)
        self.allgather(self.comm, self.parameters[bucket.shard], whole, counts=bucket.counts)
        return whole

    def weights(self, layer: int) -> Array:
        if self.worker is None:
            return self.gather(layer)
        ahead = self.ahead or self.worker.submit(self.gather, layer)
        self.asked_for = (self.asked_for + 1) % len(self.order)
        following = self.order[self.asked_for]
        self.ahead = self.worker.submit(self.gather, following) if self.asked_for else None
        return ahead.result()

    def ready(self, layer: int, gradient: Array) -> None:
        self.later(self.reduce, layer, gradient)

    def reduce(self, layer: int, gradient: Array) -> None:
        bucket = self.bucket_of[layer]
        self.reduce_scatter(self.comm, IN_PLACE, gradient, counts=bucket.counts)
        self.gradients[bucket.shard] += gradient[: bucket.mine]

    def update(self) -> None:
        self.adam.update([(self.parameters, self.gradients)])
        self.gradients[:] = 0

    def everything(self) -> Array:
        return np.concatenate([self.gather(layer) for layer in range(len(self.places))])
