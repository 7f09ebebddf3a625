"""Several calls in a row on ranks that are late in turns, without a barrier in between."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from collectives.comm import Array
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case

Call: TypeAlias = tuple[Case, Sequence[Array]]
"""What is asked, and what all ranks bring to it."""

PAUSE = 0.001
"""Seconds of one step of a delay, where time is real."""


@dataclass(frozen=True)
class Passed:
    """One rank's way through a call: when it came, when it left, and with what."""

    came: float
    left: float
    result: Array | None


def delays(p: int, seed: int, calls: int = 3) -> list[list[int]]:
    """Return how many steps each rank is late before each call; the same for the same seed."""
    if seed == 0:
        return [[4 * ((2 * rank + 1) % p) if call == 0 else 0 for call in range(calls)]
                for rank in range(p)]  # fmt: skip
    draw = np.random.default_rng([seed, p])
    late: list[list[int]] = (
        draw.integers(0, 9, (p, calls)) * draw.integers(0, 2, (p, calls))
    ).tolist()
    return late


def one_late(p: int, late: int, steps: int = 100) -> list[list[int]]:
    """Return the delays where one rank alone is late, before a single call."""
    return [[steps if rank == late else 0] for rank in range(p)]


def in_a_row(
    function: Any, calls: Sequence[Call], late: Sequence[Sequence[int]], comm: Any
) -> list[Passed]:
    """Make the calls of one rank; each buffer is overwritten as soon as its call returns."""
    passed = []
    for (case, inputs), steps in zip(calls, late[comm.rank], strict=True):
        pause(comm, steps)
        buffers = Buffers(case, comm.rank, inputs[comm.rank])
        came = now(comm)
        result = buffers.run(function, comm)
        left = now(comm)
        passed.append(Passed(came, left, None if result is None else result.copy()))
        buffers.sent.whole[:] = buffers.received.whole[:] = 0
    return passed


def now(comm: Any) -> float:
    """Return the time, which all ranks of one machine share, or this rank's virtual time."""
    virtual = getattr(comm, "time", None)
    return time.monotonic() if virtual is None else float(virtual)


def pause(comm: Any, steps: int) -> None:
    """Let time pass on this rank: in simulation, it sends that many messages to itself."""
    if getattr(comm, "time", None) is None:
        time.sleep(PAUSE * steps)
        return
    nothing = np.empty(0)
    for _ in range(steps):
        comm.Sendrecv(nothing, dest=comm.rank, recvbuf=nothing.copy(), source=comm.rank)
