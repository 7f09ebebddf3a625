"""Run programs that may hang, see where they wait, and go on.

A blocked call cannot be taken back. But it ends as soon as its partner is there: so each program
runs in a thread, and where all threads have come to rest, the main thread of every rank says what
its own waits for, and then posts the missing receive, and a message for the receive after it.
Should the threads only have been slow, these two meet each other, and the program is seen to have
got its own message.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from collectives.gpu import HOST, Device, for_arrays_like, to_host
from collectives.topology import ring_neighbours

PATIENCE = 0.5
"""Seconds without any change on any rank, twice in a row, after which ranks are taken to hang."""

Program = Callable[[Any, Any, Any], None]
"""``program(comm, outgoing, incoming)`` passes a message round a ring, one step to the right."""


@dataclass(frozen=True)
class Outcome:
    """What came of a program.

    Attributes
    ----------
    hung : bool
        Whether its ranks waited for each other for ever.
    cycle : list of int
        Ranks each of which waits for the next one, and the last for the first.
    text : str
        Who waits for whom on which source line.
    right : bool
        Whether every rank got the message of its left neighbour.
    """

    hung: bool
    cycle: Sequence[int]
    text: str
    right: bool


def run_simulated(p: int, program: Program, nbytes: int, device: Device = HOST) -> Outcome:
    """Run a program on p simulated ranks, which copy messages of fewer than 8192 bytes."""
    from collectives.sim import DeadlockError, Hockney, simulate

    try:
        run = simulate(
            lambda comm: _got(comm, program, nbytes, device), p, network=Hockney(eager_limit=8192)
        )
    except DeadlockError as error:
        return Outcome(True, error.cycle, str(error), False)
    return Outcome(False, [], "", run.results == [_number((rank - 1) % p) for rank in range(p)])


def _number(rank: int) -> int:
    """Return what a rank sends, in every byte."""
    return rank % 100 + 1


_HELP = 255
"""What the main thread sends, in every byte."""


def _got(comm: Any, program: Program, nbytes: int, device: Device) -> int:
    """Run a program and return which number it received; -1 if not the same in all bytes."""
    outgoing = device.array(np.full(nbytes, _number(comm.rank), np.uint8))
    incoming = device.array(np.zeros(nbytes, np.uint8))
    program(for_arrays_like(incoming, comm), outgoing, incoming)
    got = to_host(incoming)
    return int(got[0]) if np.all(got == got[0]) else -1


class _Diary:
    """What this rank's program is doing, as `collectives.oracle.watched` writes it down."""

    what = ""

    def __init__(self) -> None:
        self.entries, self.text, self.peer = 0, "", -1

    def write(self, text: str, peer: int) -> None:
        self.text, self.peer = text, peer
        self.entries += 1


def can_watch() -> bool:
    """Tell whether the MPI library lets several threads of a rank communicate."""
    from mpi4py import MPI

    return bool(MPI.Query_thread() == MPI.THREAD_MULTIPLE)


def run_watched(comm: Any, program: Program, nbytes: int, device: Device = HOST) -> Outcome:
    """Run a program on the ranks of an MPI communicator; every rank gets what came of it."""
    from collectives.oracle.watched import Log, Watched

    inner, diary = comm.Dup(), _Diary()
    got: list[int] = []
    watched = Watched(inner, diary, Log(), False, range(comm.size))  # type: ignore[arg-type]
    number = device.current()

    def run() -> None:
        device.use(number)  # CUDA has a current device for each thread
        got.append(_got(watched, program, nbytes, device))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    circle: list[int] = []
    text = ""
    if not _all_done(comm, thread, diary):
        circle, text = _story(comm, diary)
        _help(inner, nbytes)
    thread.join()
    numbers = _together(comm, got[0] if got else -1)
    inner.Free()
    if _HELP in numbers:
        return Outcome(True, circle, text, right=False)
    wanted = [_number((rank - 1) % comm.size) for rank in range(comm.size)]
    return Outcome(False, [], "", right=numbers == wanted)


def _all_done(comm: Any, thread: threading.Thread, diary: _Diary) -> bool:
    """Wait until the threads of all ranks have ended, or all have come to rest."""
    before: Sequence[Any] = []
    while True:
        thread.join(PATIENCE)
        states = _together(comm, (not thread.is_alive(), diary.entries))
        if all(done for done, _ in states):
            return True
        if states == before:
            return False
        before = states


def _story(comm: Any, diary: _Diary) -> tuple[list[int], str]:
    """Return the circle, and what every rank is doing."""
    states = _together(comm, (diary.text, diary.peer))
    circle, seen = [0], {0}
    while (following := states[circle[-1]][1]) not in seen and following >= 0:
        circle.append(following)
        seen.add(following)
    closed = circle[circle.index(following) :] if following in seen else []
    lines = [f"rank {rank}: {text}" for rank, (text, _) in enumerate(states)]
    if closed:
        lines.append("in a circle: " + " -> ".join(map(str, [*closed, closed[0]])))
    return closed, "\n".join(lines)


def _help(comm: Any, nbytes: int) -> None:
    """Receive what the left neighbour is stuck with, and send what the right one then waits for."""
    left, right = ring_neighbours(comm.rank, comm.size)
    help_in, help_out = np.empty(nbytes, np.uint8), np.full(nbytes, _HELP, np.uint8)
    for request in (comm.Irecv(help_in, source=left), comm.Isend(help_out, dest=right)):
        _patiently(request)


def _together(comm: Any, mine: Any) -> list[Any]:
    """Return what all ranks bring, without taking cores from those at work."""
    _patiently(comm.Ibarrier())
    return list(comm.allgather(mine))


def _patiently(request: Any) -> None:
    while not request.Test():
        time.sleep(0.002)
