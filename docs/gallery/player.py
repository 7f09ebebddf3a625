"""
The player
==========

One HTML file, without any access to the network, that steps through a run: backwards and forwards
with the arrow keys, or played. Point at a message or a block and it is marked in both pictures.
"""

# sphinx_gallery_thumbnail_path = '_static/player.svg'

from collectives import find
from collectives.draw import player
from collectives.recorder import record
from collectives.sim import Hockney

# %%
# Two algorithms at the same size beside each other: the ring takes many steps with short messages,
# Rabenseifner's few with longer ones. The run is simulated.

network = Hockney(alpha=2e-6, beta=1e-9, gamma=2e-10)
ring = record(find("allreduce", "ring"), 8, elements=8000, network=network)
rabenseifner = record(find("allreduce", "rabenseifner"), 8, elements=8000, network=network)
player.write("player.html", ring, rabenseifner)
