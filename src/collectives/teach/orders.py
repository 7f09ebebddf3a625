"""Other orders in which messages may come: what a right submission does not depend on.

Only a receive from any rank has a choice. Where one was made, the runs are made again, and in each
one rank stands still for long before one of its calls: other messages are the first ones then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from collectives.oracle.cases import Case
from collectives.teach.attempt import Attempt, Pause
from collectives.teach.grading import Trials, Wrong, wrong

MOST_CALLS = 6
"""Calls of a rank before which it stands still, in a run each."""


def has_choice(attempts: Iterable[Attempt]) -> bool:
    """Tell whether anybody received from any rank."""
    return any(m.kind == "receive" and m.peer is None for a in attempts for m in a.messages)


def pauses(found: Attempt) -> Iterator[Pause]:
    """Yield where ranks may stand still in a run like this one."""
    for rank in range(found.case.p):
        calls = max((m.step for m in found.messages if m.rank == rank), default=0)
        for call in range(1, min(calls, MOST_CALLS) + 1):
            yield Pause(rank, call)


def race(trials: Trials, case: Case) -> Wrong | None:
    """Return in which other order a case goes wrong."""
    for pause in pauses(trials(case)):
        found = trials(case, pause=pause)
        fault = wrong(found)
        if fault is not None:
            return Wrong("race", f"{pause}: {fault.text}", found)
    return None
