"""
Space and time
==============

A line per rank, time to the right, an arrow per message, from when it leaves to when it arrives.
Hatched is waiting: a rank is in a call, and nothing is on its way. Times are simulated.
"""

from collectives import find
from collectives.draw.figures import spacetime
from collectives.recorder import record
from collectives.sim import Hockney

# %%
# In a binomial broadcast the ranks that have the vector double in number. The others wait.

network = Hockney(alpha=2e-6, beta=1e-9, gamma=5e-10)
spacetime(record(find("bcast", "binomial"), 8, elements=10_000, network=network))

# %%
# In a pipelined chain a rank passes on a segment while the next one comes in.

spacetime(record(find("bcast", "chain"), 5, elements=10_000, segment=2_500, network=network))
