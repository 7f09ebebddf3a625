"""
Hierarchy: bytes on every link
==============================

Links inside a node are fast, network cards are few. What does an algorithm send over which?
"""

from collectives import find
from collectives.draw.figures import hierarchy
from collectives.recorder import record

# %%
# On two nodes of four ranks a ring sends as much through the cards as inside; a hierarchical
# all-reduce adds up inside the nodes first.

ring = record(find("allreduce", "ring"), 8, elements=6000)
by_node = record(find("allreduce", "hierarchical"), 8, elements=6000, per_node=4)
hierarchy(ring, by_node, per_node=4)
