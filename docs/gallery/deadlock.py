"""
Deadlock: who waits for whom
============================

Every rank sends to its right neighbour, then receives from the left one. That works for as long as
the MPI library buffers messages, and hangs when they get too long for that. The simulator buffers
nothing unless told to, so it always finds out.
"""

from collectives.draw.figures import waitfor
from collectives.recorder import record


def send_then_receive(comm, sendbuf, recvbuf, op):
    """Send before anybody receives: not to be imitated."""
    comm.Send(sendbuf, dest=(comm.rank + 1) % comm.size)
    comm.Recv(recvbuf, source=(comm.rank - 1) % comm.size)


# %%
# Each rank is shown with the call in which it waits, and the line of that call.

waitfor(record(send_then_receive, 4, collective="allreduce"))
