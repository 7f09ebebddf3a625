"""Watch the ranks of an MPI job while they run a program, outside a check."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mpi4py import MPI

from collectives.oracle.page import BACK, CALLING, IDLE, Page
from collectives.oracle.watchdog import Watchdog
from collectives.oracle.watched import Log, Watched
from collectives.oracle.worlds import Ending


@contextmanager
def watching(comm: Any, patience: float, tell: Callable[[Ending], None]) -> Iterator[Any]:
    """Lend `comm` watched: if its ranks do not go on, one tells why, and the job is ended.

    All ranks enter and leave together. Ranks on several machines, which share no memory, are not
    watched.
    """
    machine = comm.Split_type(MPI.COMM_TYPE_SHARED)
    together = machine.size == comm.size
    machine.Free()
    if not together:
        yield comm
        return
    path = comm.bcast(Page.create(comm.size) if comm.rank == 0 else None)
    page = Page(path, comm.size, comm.rank)
    comm.Barrier()
    if comm.rank == 0:
        os.unlink(path)
    Watchdog(page, patience, tell).start()
    page.enter(CALLING, "between calls")
    yield Watched(comm, page, Log(), False, range(comm.size))
    page.enter(BACK)
    comm.Barrier()
    page.enter(IDLE)
