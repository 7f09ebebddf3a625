"""
All-to-all as a transpose
=========================

Row r is what rank r holds. An all-to-all makes rows of columns.
"""

from collectives.draw.figures import transpose

# %%
# This is taken from a run, too: it shows what the ranks really held before and after.

transpose(5)
