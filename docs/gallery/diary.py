"""
Diary of a block
================

One block, followed from rank to rank: arrows are numbered by step, and the list says who is in the
block after each hop.
"""

from collectives import find
from collectives.draw.figures import diary
from collectives.recorder import record

# %%
# In a ring all-reduce a block goes round twice: once to be added up, once to be handed out.

diary(record(find("allreduce", "ring"), 6), column=0)

# %%
# In a broadcast along a binomial tree the way of a block is the tree.

diary(record(find("bcast", "binomial"), 8), column=0)
