"""Data parallelism: every rank keeps everything, and all-reduces the gradients."""

from __future__ import annotations

import numpy as np

from collectives.comm import IN_PLACE, Array
from collectives.training.adam import Adam
from collectives.training.buckets import Bucket
from collectives.training.trainer import Trainer


class DataParallel(Trainer):
    """Sum the gradients of all ranks; then every rank takes the same step.

    Per step, in units of the model: one all-reduce, 2 (p - 1) / p, however many micro-batches.
    """

    name = "DDP"

    def _start(self, parameters: Array, rate: float) -> None:
        self.parameters = parameters.copy()
        self.gradients = np.zeros_like(parameters)
        self.adam = Adam(parameters, parameters.size, rate=rate)

    def weights(self, layer: int) -> Array:
        return self.parameters[self.places[layer]]

    def ready(self, layer: int, gradient: Array) -> None:
        self.gradients[self.places[layer]] += gradient
        bucket = self.bucket_of[layer]
        if self.is_last and layer == bucket.layers[0]:
            # Invariant: the bucket has the gradients of all its layers and of all micro-batches.
            self.later(self.reduce, bucket)

    def reduce(self, bucket: Bucket) -> None:
        self.allreduce(self.comm, IN_PLACE, self.gradients[bucket.whole])

    def update(self) -> None:
        self.adam.update([(self.parameters, self.gradients)])
        self.gradients[:] = 0

    def everything(self) -> Array:
        return self.parameters
