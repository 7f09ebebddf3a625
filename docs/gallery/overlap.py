"""
Overlap of computation and communication
========================================

In the backward pass the gradients of the last layers are there first. They can be reduced while
those of the layers before are computed.
"""

from collectives.draw.figures import overlap
from collectives.sim import Hockney
from collectives.training.timeline import Layer, allreduce_time

# %%
# 12 layers of 8 MB each, reduced in buckets on 8 ranks: times are a model's.

layers = [Layer(seconds=2e-3, nbytes=8_000_000)] * 12
ring = allreduce_time("ring", 8, Hockney(alpha=5e-6, beta=1e-10))
overlap(layers, 20_000_000, ring, model="ring all-reduce on 8 ranks")
