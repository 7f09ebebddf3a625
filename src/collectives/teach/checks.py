"""The checks that a function has to pass: values first, then progress, then what it costs.

Each check is a list of cases on one kind of network, and is made up to its first fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from collectives.cost import Cost
from collectives.oracle.cases import Case
from collectives.oracle.worlds import RENDEZVOUS
from collectives.teach.attempt import Attempt, Here
from collectives.teach.cases import Cases
from collectives.teach.clerk import LONG
from collectives.teach.exercise import Part
from collectives.teach.grading import Check, Trials, Wrong
from collectives.teach.orders import has_choice, race

COUNTED: Final = ("traffic", "steps")
"""The checks that count what a right submission does."""


def checks(trials: Trials, *, quick: bool = False) -> list[Check]:
    """Try a function on all its cases, each check up to its first fault.

    After a run that had to be ended by force there are no others.
    """
    found: list[Check] = []
    by_force = False
    for name, fault, cases in _planned(trials, Cases(trials.part, quick)):
        check = Check(name, skipped="not tried") if by_force else _check(name, fault, cases)
        found.append(check)
        ending = check.wrong.attempt.ending if check.wrong and check.wrong.attempt else None
        by_force = by_force or (ending is not None and ending.kind in ("hung", "too much"))
    return found


Plan: TypeAlias = tuple[str, Callable[[Case], Wrong | None], Iterable[Case]]
"""A check: its name, what is wrong with a case, and the cases."""


def _planned(trials: Trials, cases: Cases) -> Iterator[Plan]:
    part, blank = trials.part, Case(trials.part.collective, 1)
    everywhere = [case for p in cases.ranks for case in cases.plain(p)]
    yield "value", trials.wrong, cases.plain(4)
    yield "ranks", trials.wrong, [case for case in everywhere if case.p != 4]
    if part.collective == "barrier":
        yield "waits for all", partial(_early, trials), everywhere
    else:
        yield "lengths", trials.wrong, cases.lengths()
    if blank.rooted:
        yield "roots", trials.wrong, cases.roots()
    if blank.reduces:
        yield "types", trials.wrong, cases.types()
    if "d" in part.checks:
        yield "safe", partial(trials.wrong, network=RENDEZVOUS), everywhere
    if has_choice(trials.made.values()):
        yield "any order", partial(race, trials), cases.orders()
    beyond = [case for case in reversed(everywhere) if case.p > 1]  # many ranks show more
    if {"c", "b"} & {*part.checks}:
        yield "traffic", partial(_traffic, trials), beyond
    if "s" in part.checks:
        yield "steps", partial(_steps, trials), beyond


def _check(name: str, fault: Callable[[Case], Wrong | None], cases: Iterable[Case]) -> Check:
    check = Check(name)
    for case in cases:
        check.tried += 1
        check.wrong = fault(case)
        if check.wrong is not None and check.wrong.kind == "ended" and name in COUNTED:
            check.wrong, check.skipped = None, "the run does not end"
        if check.wrong is not None or check.skipped:
            break
    return check


def fault(trials: Trials, case: Case) -> Wrong | None:
    """Return what is wrong with a case, of a barrier too."""
    found = trials.wrong(case)
    return _early(trials, case) if found is None and case.collective == "barrier" else found


def _early(trials: Trials, case: Case) -> Wrong | None:
    """Return who leaves a barrier that one rank has not reached."""
    for late in range(case.p):
        found = trials(case, late=tuple(LONG * (rank == late) for rank in range(case.p)))
        if found.ending is not None:
            return Wrong("ended", found.ending.text, found)
        for rank, clock in enumerate(found.clocks):
            if clock < LONG:
                return Wrong("early", f"rank {rank} leaves before rank {late} has come", found)
    return None


def budget(part: Part, case: Case) -> Cost:
    """Return what the solution costs, in elements."""
    cost = case.cost(part.entry.cost)
    if cost is None and case.counts is not None:  # its cost is for equal blocks
        cost = replace(case, counts=None, n=case.counts[0]).cost(part.entry.cost)
    assert cost is not None, f"{part.solution} has no cost"
    return cost


def _traffic(trials: Trials, case: Case) -> Wrong | None:
    """Return where more is sent than the solution sends."""
    part, found = trials.part, trials(case)
    if not found.finished:
        return Wrong("ended", found.ending.text if found.ending else "", found)
    wanted, sent, width = budget(part, case), found.sent(), _width(found)
    messages, size = len(sent), sum(m.nbytes for m in sent) // width
    if "b" in part.checks and size > wanted.volume:
        text = f"{size} elements sent, {wanted.volume} are enough"
        return Wrong("bytes", text, found, size, wanted.volume)
    if "c" in part.checks and messages > wanted.messages:
        text = f"{messages} messages, {wanted.messages} are enough"
        return Wrong("messages", text, found, messages, wanted.messages)
    if part.exact and messages < wanted.messages:
        text = f"{messages} messages, wants {wanted.messages}"
        return Wrong("fewer", text, found, messages, wanted.messages)
    names = {"p": case.p, "n": case.n, "log2": math.log2, "ceil": math.ceil}
    loads, most = _loads(found), _most(trials, case, names)
    if max(loads) > most:
        text = f"rank {loads.index(max(loads))} sends or receives {max(loads)} elements"
        return Wrong("busiest", f"{text}, {most:g} are enough", found, max(loads), most)
    links: dict[tuple[int, int | None], int] = {}
    for m in sent:
        links[m.rank, m.peer] = links.get((m.rank, m.peer), 0) + m.nbytes // width
    if part.link and max(links.values()) > (most := eval(part.link, {"__builtins__": {}}, names)):
        (source, dest), load = max(links.items(), key=lambda item: item[1])
        text = f"rank {source} sends {load} elements to rank {dest}, wants at most {most:g}"
        return Wrong("link", text, found, load, most)
    return None


def _width(found: Attempt) -> int:
    """Return the bytes of an element, whatever the types in which messages are sent."""
    return int(found.inputs[0].itemsize)


def _loads(found: Attempt) -> list[int]:
    """Return what each rank sends, or receives where that is more, in elements."""
    return [
        max(sum(m.nbytes for m in found.of(rank, kind)) for kind in ("send", "receive"))
        // _width(found)
        for rank in range(found.case.p)
    ]


def _most(trials: Trials, case: Case, names: dict[str, Any]) -> float:
    """Return what the busiest rank may send or receive: as the exercise says, or the solution's."""
    if trials.part.busiest:
        return float(eval(trials.part.busiest, {"__builtins__": {}}, names))
    if trials.reference is None:
        trials.reference = solution(trials.part)
    return max(_loads(trials.reference(case))) + case.p - 1  # blocks may be cut otherwise


def _steps(trials: Trials, case: Case) -> Wrong | None:
    """Return where more messages go one after the other than in the solution."""
    found = trials(case, RENDEZVOUS)
    if not found.finished:
        return Wrong("ended", found.ending.text if found.ending else "", found)
    steps, wanted = max(found.clocks), budget(trials.part, case).alphas
    if steps > wanted:
        return Wrong("steps", f"{steps:g} steps, {wanted} are enough", found, steps, wanted)
    return None


def solution(part: Part) -> Trials:
    """Return the runs of the registered algorithm, in this process."""
    return Trials(Here({part.function: part.entry.function}), part)
