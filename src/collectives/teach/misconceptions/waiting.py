"""Beliefs about who waits for whom: decided by programs that wait."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from collectives.draw.text import seconds
from collectives.op import SUM
from collectives.registry import find
from collectives.sim import DeadlockError, Hockney, Phantom, simulate
from collectives.teach.misconceptions.belief import Evidence, belief


def stuck(program: Callable[[Any], Any], p: int, eager_limit: float = 0) -> dict[int, str]:
    """Return which simulated ranks wait for ever, and for what; none where all return."""
    try:
        simulate(program, p, network=Hockney(1e-6, 1e-9, 1e-3, eager_limit=eager_limit))
    except DeadlockError as error:
        return dict(error.waiting)
    return {}


def compute(n: int) -> None:
    """Keep a simulated rank busy: gamma for each of 8 n bytes."""
    block: Any = Phantom(n)
    SUM(block, block, out=block)


def shift(comm: Any, n: int) -> None:
    """Send to the right, and only then receive from the left."""
    comm.Send(Phantom(n, np.uint8), dest=(comm.rank + 1) % comm.size)
    comm.Recv(Phantom(n, np.uint8), source=(comm.rank - 1) % comm.size)


@belief(
    16,
    "Send waits for the receiver; or: Send never waits",
    "It may do either. What relies on buffering works small and hangs large.",
    source="measured by this project: MPICH 5.0.2 buffers 8064 B and not 8128, Open MPI 5.0.11 "
    "3968 and not 4032 (wheels, one machine); lessons/point_to_point.py finds yours",
)
def buffering() -> Evidence:
    small, large = (len(stuck(partial(shift, n=n), 4, 8192)) for n in (100, 100_000))
    text = f"4 ranks send, then receive; eager limit 8 kB: of 100 B {small} hang, of 100 kB {large}"
    return Evidence((small, large) == (0, 4), "simulated", text)


@belief(
    17,
    "a collective is a barrier",
    "Some ranks may leave before others enter, such as the root of a broadcast.",
)
def early_leave() -> Evidence:
    def program(comm: Any) -> float:
        if comm.rank == 7:  # a leaf of the tree comes late
            compute(1000)
        find("bcast", "binomial").function(comm, Phantom(10))
        return float(comm.time)

    clocks = simulate(program, 8, network=Hockney(1e-6, 0, 1e-6, eager_limit=1 << 13)).clocks
    text = f"broadcast, rank 7 comes after 8 ms: rank 0 has left after {seconds(clocks[0])}"
    return Evidence(clocks[0] < 1e-4 < 8e-3 <= clocks[7], "simulated", text)


@belief(
    18,
    "nonblocking means that it progresses by itself",
    "It may need calls of the library meanwhile, or hardware that does it; without, sending and "
    "computing take as long together as one after the other.",
    verdict="half true",
)
def progress() -> Evidence:
    text = "needs an MPI library: mpirun -n 2 python lessons/misconceptions.py M18"
    return Evidence(True, "not run", text)


def measured_progress(comm: Any) -> Evidence:
    """Measure, on all ranks of an MPI job, whether an Iallreduce goes on behind computation."""
    brought, total = np.ones(1 << 20, np.float32), np.empty(1 << 20, np.float32)
    table = np.ones(1 << 15)

    def least(parts: int, *, sends: bool = True, tests: bool = False) -> float:
        """Return the least time, of the slowest rank, of computing `parts` while sending."""
        found = []
        for _ in range(5):
            comm.Barrier()
            start = perf_counter()
            request = comm.Iallreduce(brought, total) if sends else None
            for _ in range(20 * parts):
                np.sqrt(table, out=table)
                if tests and request is not None:
                    request.Test()
            if request is not None:
                request.Wait()
            found.append(max(comm.allgather(perf_counter() - start)))
        return float(min(found))

    sending = least(0)
    parts = max(1, round(sending / least(1, sends=False)))
    rows = {
        "sending": sending,
        "computing": least(parts, sends=False),
        "both, no Test": least(parts),
        "both, with Test": least(parts, tests=True),
    }
    text = ", ".join(f"{name} {seconds(time)}" for name, time in rows.items())
    whole = seconds(rows["sending"] + rows["computing"])
    return Evidence(True, "measured", f"4 MB: {text}; one after the other {whole}")


@belief(
    20,
    "it hangs in Recv, so Recv is wrong",
    "The cause is mostly on another rank: look at all that wait.",
    source="pytorch issue 152623",
)
def cause_elsewhere() -> Evidence:
    def program(comm: Any) -> None:
        token = Phantom(1, np.uint8)
        if comm.rank > 0:
            comm.Recv(token, source=comm.rank - 1)
        if comm.rank not in (1, 3):  # rank 1 forgets to pass it on; 3 is the last
            comm.Send(token, dest=comm.rank + 1)

    waiting = stuck(program, 4)
    text = (
        f"rank 1 forgets a Send and returns; ranks {' and '.join(map(str, waiting))} hang in Recv"
    )
    return Evidence(set(waiting) == {2, 3}, "simulated", text)


@belief(
    35,
    "a timeout proves a deadlock",
    "Slow is not stuck: look whether anything still moves.",
    source="this project: limits of 6 s condemned 2 runs that were not stuck; alone they took 2 s",
)
def slow_or_stuck() -> Evidence:
    def slow(comm: Any) -> None:
        if comm.rank == 0:
            compute(1 << 20)
        find("barrier", "dissemination").function(comm)

    took = simulate(slow, 4, network=Hockney(1e-6, 0, 1e-3)).time
    hang = stuck(lambda comm: shift(comm, 10), 4)
    late = f"{took / 3600:.1f} h"
    text = f"a rank comes {late} late: all return; 4 ranks send in a circle: {len(hang)} never do"
    return Evidence(took > 3600 and len(hang) == 4, "simulated", text)
