"""
Trees and the double binary tree
================================

The trees that vectors travel along, above the bytes that each rank sends and receives.
"""

from collectives import find
from collectives.draw.figures import trees
from collectives.recorder import record

# %%
# In one tree leaves never send anything on: half of all ranks.

trees(record(find("bcast", "binomial"), 8), record(find("bcast", "binary_tree"), 8))

# %%
# Two trees carry half of the vector each. Inner ranks of one are leaves of the other, so that all
# but the two roots have the same to do.

trees(record(find("allreduce", "double_binary_tree"), 8))
