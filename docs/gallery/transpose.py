"""
All-to-all as a transpose
=========================

Row r is what rank r holds. An all-to-all makes rows of columns.
"""

from collectives import find
from collectives.draw.figures import transpose
from collectives.recorder import record

# %%
# It shows what the ranks really held before and after.

transpose(record(find("alltoall", "pairwise"), 5))
