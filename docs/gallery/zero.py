"""
ZeRO: memory and traffic
========================

Data parallel training keeps everything on every rank. ZeRO cuts up optimizer states, then
gradients, then parameters, and sends more only with the last.
"""

from collectives.draw.figures import zero_bars

# %%
# A model of 7.5 billion parameters on 64 ranks, the example of the ZeRO paper.

zero_bars(7_500_000_000, 64)
