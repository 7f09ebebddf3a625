"""Where ranks run: simulated in this process, or the ranks of an MPI job.

A property runs programs in a `World` and judges what comes back. What a world cannot show it does
not list in `World.shows`, and no property that needs it is checked there.
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import numpy as np

from collectives import sim
from collectives.oracle.alarm import HungError, alarm
from collectives.registry import UnsupportedError
from collectives.sim import Hockney, Network, SimComm, simulate
from collectives.sim.kernel import Kernel

RENDEZVOUS: Final = Hockney()
"""Every send waits for its receive."""

EAGER: Final = Hockney(eager_limit=2**62)
"""No send waits for its receive."""

SHOWN: Final = {
    "terms": "Python objects do not travel",
    "messages": "its messages are not seen",
    "rendezvous": "its sends cannot be made to wait for their receives",
    "buffers": "its buffers cannot be looked at",
    "in_place": "it has no calls in place",
    "user_ops": "it takes no operations of the caller's",
    "communicators": "its communicators cannot be split",
    "traffic": "no messages of the caller's travel beside it",
    "delays": "its ranks cannot be delayed",
    "time": "time is not virtual",
    "phantoms": "arrays without data do not travel",
    "several calls": "one call is all there is",
    "uneven": "its blocks are all of one size",
}
"""What a world may show, and what is missing where it does not."""


@dataclass(frozen=True)
class Ending:
    """What ended a run early.

    Attributes
    ----------
    kind : str
        ``deadlock`` (ranks wait in a circle), ``starved`` (a rank waits for what nobody will
        send), ``mismatched`` (they wait, and messages are there that nobody asks for), ``left
        over`` (a message was never received), ``unwaited`` (a request was never waited for),
        ``truncated``, ``mistyped``, ``changed`` (a buffer was written to while it was sent),
        ``misused`` (another rule of message passing was broken), ``hung``, ``died``, ``raised``, or
        ``refused`` (all ranks raised UnsupportedError).
    text : str
        The story: who, where, why.
    rank : int or None
        Where it shows first.
    """

    kind: str
    text: str
    rank: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What a run gave, the same on every rank that judges it.

    Attributes
    ----------
    results : list
        What the program returned on every rank; None where it did not return.
    ending : Ending or None
        What ended the run early.
    messages, nbytes : list of int
        Messages and bytes that each rank sent, where the world shows ``messages``.
    time : float
        Virtual seconds, where the world shows ``time``.
    """

    results: list[Any]
    ending: Ending | None = None
    messages: list[int] = field(default_factory=list)
    nbytes: list[int] = field(default_factory=list)
    time: float = 0.0


class World(Protocol):
    """Where ranks run.

    Attributes
    ----------
    name : str
        Such as ``simulated``, ``MPICH 5.0.2``, ``torch 2.13.0 gloo``.
    sizes : sequence of int
        How many ranks it can have.
    shows : frozenset of str
        What can be seen there; keys of `SHOWN`.
    """

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def sizes(self) -> Sequence[int]: ...

    @property
    def shows(self) -> frozenset[str]: ...

    big: bool
    """Whether gigabytes of memory may be used."""

    def run(self, program: Callable[[Any], Any], p: int, *, network: Network = EAGER) -> Outcome:
        """Run ``program(comm)`` on p ranks.

        Programs are functions of modules, or `functools.partial` of such, with arguments that
        can be pickled: a world may send them to other processes.
        """


class Simulated:
    """Ranks in this process, on virtual time: everything is seen.

    Attributes
    ----------
    patience : float
        Seconds of real time without any message after which the rank at work is taken to hang.
    """

    name = "simulated"
    sizes: Sequence[int] = range(1, 4097)
    shows = frozenset(SHOWN)
    big = False
    patience = 10.0

    def run(self, program: Callable[[Any], Any], p: int, *, network: Network = EAGER) -> Outcome:
        results: list[Any] = [None] * p
        kernels: list[Kernel] = []

        def kept(comm: SimComm) -> None:
            kernels.append(comm.kernel)
            results[comm.rank] = program(comm)

        def progress() -> int:
            return sum(rank.messages + rank.dead for each in kernels[:1] for rank in each.ranks)

        try:
            with alarm(self.patience, progress):
                run = simulate(kept, p, network=network)
        except (Exception, SystemExit, HungError) as error:
            story = ending(error)
            if (
                story.kind in ("deadlock", "starved")
                and network.eager_limit
                and _under_way(kernels)
            ):
                story = replace(story, kind="mismatched")
            return Outcome(results, story)
        return Outcome(results, None, run.messages, run.nbytes, run.time)


SIMULATED: Final = Simulated()


def _under_way(kernels: list[Kernel]) -> bool:
    """Tell whether a message is left that those who wait did not ask for."""
    return any(group.sends for kernel in kernels[:1] for group in kernel.groups)


_KINDS: Final[dict[type[BaseException], str]] = {
    sim.TruncationError: "truncated",
    sim.TypeMismatchError: "mistyped",
    sim.BufferChangedError: "changed",
    sim.SimulationError: "misused",
    UnsupportedError: "refused",
}


def ending(error: BaseException) -> Ending:
    """Return the story of an exception that ended a run, with the line of the target's source."""
    text = str(error)
    named = re.search(r"rank (\d+)", "\n".join([text, *getattr(error, "__notes__", ())]))
    rank = int(named[1]) if named else None
    if isinstance(error, sim.DeadlockError):
        rank = min(error.cycle or error.waiting)
        return Ending("deadlock" if error.cycle else "starved", f"deadlock, {text}", rank)
    if isinstance(error, sim.UnfinishedError):
        kind = "left over" if "never received" in text else "unwaited"
        return Ending(kind, f"UnfinishedError: {text}", rank)
    places = [
        f"{os.path.basename(frame.filename)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_ELSEWHERE)
    ]
    if isinstance(error, HungError):
        where = f" at {places[-1]}" if places else ""
        return Ending("hung", f"rank {rank}{where} {text}", rank)
    notes = ", ".join([*places[-1:], *getattr(error, "__notes__", ())])
    story = f"{type(error).__name__}: {text}" + (f" ({notes})" if notes else "")
    kind = next((kind for each, kind in _KINDS.items() if isinstance(error, each)), "raised")
    return Ending(kind, story, rank)


_ELSEWHERE = tuple(os.path.dirname(str(x)) + os.sep for x in (__file__, sim.__file__, np.__file__))
