"""
Butterfly and fold
==================

Ranks are lines, steps are columns, and two ranks that exchange are joined by a crossing.
"""

from collectives import find
from collectives.draw.figures import butterfly
from collectives.recorder import record

# %%
# Rabenseifner's all-reduce halves what is exchanged from step to step, then doubles it again.

butterfly(record(find("allreduce", "rabenseifner"), 8))

# %%
# 6 ranks are no power of two: two of them fold into a neighbour first, and get the result from it
# in the end (dashed).

butterfly(record(find("allreduce", "recursive_doubling"), 6))
