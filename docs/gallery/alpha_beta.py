"""
Alpha-beta plot
===============

The time of a message is alpha plus beta per byte. Few messages are best for short vectors, few
bytes for long ones; where lines cross, the best algorithm changes.
"""

from collectives.draw.figures import alpha_beta
from collectives.sim import Hockney

# %%
# All-reduce on 16 ranks, from the cost functions of the algorithms: a model, not measured.

names = ["recursive_doubling", "rabenseifner", "ring"]
alpha_beta("allreduce", names, 16, Hockney(alpha=5e-6, beta=1e-10, gamma=2e-11))
