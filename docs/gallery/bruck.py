"""
Bruck in three panels
=====================

An all-to-all in about log2(p) steps: blocks are rotated, then travel a power of two at a time, then
are rotated back.
"""

from collectives import find
from collectives.draw.figures import bruck
from collectives.recorder import record

# %%
# A block a→b has to go b - a ranks to the right; in each step it goes on where that has a bit set.

bruck(record(find("alltoall", "bruck"), 6))

# %%
# The allgather of the same name collects blocks from twice as far in every step.

bruck(record(find("allgather", "bruck"), 6))
