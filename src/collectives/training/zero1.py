"""ZeRO, stage 1: a rank keeps the optimizer's state of its shard only."""

from __future__ import annotations

import numpy as np

from collectives.comm import IN_PLACE, Array
from collectives.training.adam import Adam
from collectives.training.buckets import Bucket
from collectives.training.data_parallel import DataParallel


class ZeRO1(DataParallel):
    """Update the own shard, then gather the shards of all.

    An all-reduce is a reduce-scatter and an allgather. Here the optimizer's step is taken between
    the two, on the shard, so that the allgather brings new parameters instead of gradients.

    Per step, in units of the model: (p - 1) / p for the reduce-scatter of gradients, however many
    micro-batches, and the same for the allgather of parameters.
    """

    name = "ZeRO-1"

    def _start(self, parameters: Array, rate: float) -> None:
        self.parameters = parameters.copy()
        self.gradients = np.zeros_like(parameters)
        self.adam = Adam(parameters, self.mine, rate=rate)

    def reduce(self, bucket: Bucket) -> None:
        whole = self.gradients[bucket.whole]
        self.reduce_scatter(self.comm, IN_PLACE, whole, counts=bucket.counts)
        # Invariant: the own part of the sum stands at the start of the bucket, as MPI has it.

    def update(self) -> None:
        self.adam.update(
            (self.parameters[bucket.own], self.gradients[bucket.whole][: bucket.mine])
            for bucket in self.buckets
        )
        for bucket in self.buckets:
            whole = self.parameters[bucket.whole]
            self.allgather(self.comm, IN_PLACE, whole, counts=bucket.counts)
        self.gradients[:] = 0
