"""ZeRO, stage 2: a rank keeps the gradients of its shard only, too."""

from __future__ import annotations

import numpy as np

from collectives.comm import IN_PLACE, Array
from collectives.training.adam import Adam
from collectives.training.buckets import Bucket
from collectives.training.trainer import Trainer


class ZeRO2(Trainer):
    """Reduce-scatter the gradients bucket by bucket, and keep nothing but the own part.

    There is no room to accumulate the gradients of other shards, so that every micro-batch has
    its own reduce-scatter.

    Per step of k micro-batches, in units of the model: k (p - 1) / p for the gradients and
    (p - 1) / p for the allgather of parameters.
    """

    name = "ZeRO-2"

    def _start(self, parameters: Array, rate: float) -> None:
        self.parameters = parameters.copy()
        self.gradients = np.zeros_like(parameters, shape=self.mine)
        self.adam = Adam(parameters, self.mine, rate=rate)
        self.filling: Array | None = None

    def weights(self, layer: int) -> Array:
        return self.parameters[self.places[layer]]

    def ready(self, layer: int, gradient: Array) -> None:
        bucket = self.bucket_of[layer]
        if self.filling is None:
            self.filling = np.empty_like(gradient, shape=bucket.size)
        start = self.places[layer].start - bucket.whole.start
        self.filling[start : start + gradient.size] = gradient
        if layer == bucket.layers[0]:
            whole, self.filling = self.filling, None
            self.later(self.reduce, bucket, whole)

    def reduce(self, bucket: Bucket, whole: Array) -> None:
        self.reduce_scatter(self.comm, IN_PLACE, whole, counts=bucket.counts)
        self.gradients[bucket.shard] += whole[: bucket.mine]

    def update(self) -> None:
        self.adam.update(
            (self.parameters[bucket.own], self.gradients[bucket.shard]) for bucket in self.buckets
        )
        for bucket in self.buckets:
            whole = self.parameters[bucket.whole]
            self.allgather(self.comm, IN_PLACE, whole, counts=bucket.counts)
        self.gradients[:] = 0

    def everything(self) -> Array:
        return self.parameters
