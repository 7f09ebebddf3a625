"""The ring that students write: right, and where most of their mistakes are planted."""

from typing import Any

import numpy as np

from collectives.blocks import even, split


def allreduce_student(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    """The ring in place, as textbooks number it: its first phase completes block rank + 1."""
    rank, p = comm.rank, comm.size
    left, right = (rank - 1) % p, (rank + 1) % p
    if sendbuf is not recvbuf:
        recvbuf[:] = sendbuf
    chunks = list(split(recvbuf, even(recvbuf.size, p)))
    for step in range(p - 1):  # reduce-scatter
        mine, theirs = (rank - step) % p, (rank - step - 1) % p
        incoming = np.empty_like(chunks[theirs])
        comm.Sendrecv(chunks[mine], dest=right, recvbuf=incoming, source=left)
        op(incoming, chunks[theirs], out=chunks[theirs])
    for step in range(p - 1):  # allgather
        mine, theirs = (rank - step + 1) % p, (rank - step) % p
        comm.Sendrecv(chunks[mine], dest=right, recvbuf=chunks[theirs], source=left)
