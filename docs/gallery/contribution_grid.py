"""
Contribution grid
=================

Who is in which block on which rank, after every step. A row is a rank, a column a block, a pip in a
cell a contribution: hollow where it is missing, full where it is there, ringed where it is counted
more than once.
"""

import numpy as np

from collectives import find
from collectives.draw.figures import contribution_grid
from collectives.recorder import record

# %%
# In a ring all-reduce the contributions grow by one per step until some rank has them all; then
# complete blocks, in thick frames, travel on.

contribution_grid(record(find("allreduce", "ring"), 4))

# %%
# A run that is wrong
# -------------------
#
# This all-reduce passes sums round the ring instead of the vectors themselves, and so counts ranks
# more than once: double rings in dashed frames.


def passes_sums(comm, sendbuf, recvbuf, op):
    """Pass on what has been added up so far: that counts ranks twice."""
    recvbuf[:] = sendbuf
    incoming = np.empty_like(recvbuf)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(comm.size - 1):
        comm.Sendrecv(recvbuf, dest=right, recvbuf=incoming, source=left)
        op(incoming, recvbuf, out=recvbuf)


contribution_grid(record(passes_sums, 4, collective="allreduce"))
