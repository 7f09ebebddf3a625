"""What a promise is: how it is checked, where that can be seen, on which cases it is worth it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, TypeAlias

from collectives import arguments
from collectives.oracle.cases import Case, parameters, taken_by
from collectives.oracle.findings import Finding, Note
from collectives.oracle.grids import FEW, LARGE, RANKS, Cases, grid
from collectives.oracle.payloads import UINT64
from collectives.oracle.trials import Target
from collectives.oracle.worlds import SHOWN, SIMULATED, World
from collectives.registry import Algorithm, Requirement
from collectives.sim import Phantom

Check: TypeAlias = Callable[..., Finding | Note | None]


class NotClaimed(Note):
    """Says that nobody makes this promise for the target."""


class NotObservable(Note):
    """Says what is missing to see whether the promise is kept."""


@dataclass(frozen=True)
class Subject:
    """What is held to the promises: a function that does what a collective does.

    Attributes
    ----------
    collective, name : str
        Such as ``allreduce`` and ``ring``.
    function : callable
        With the collective's signature, see `collectives.arguments`.
    entry : Algorithm or None
        What is claimed of it: cost, order, requirements.
    cannot : callable
        Says of a case why it is not asked; None if it is.
    of_library : bool
        Whether a released library does at least the arithmetic, whose defects may be known.
    may_refuse : bool
        Whether it may say of a case, on all ranks, that it cannot do it.
    ran : callable, optional
        ``ran(world, case)`` says which other algorithm ran than the one asked for, where that is
        not seen in messages.
    """

    collective: str
    name: str
    function: Target
    entry: Algorithm | None = None
    cannot: Callable[[Case], str | None] = lambda case: None
    of_library: bool = False
    may_refuse: bool = False
    ran: Callable[[World, Case], Finding | Note | None] | None = None

    def __str__(self) -> str:
        return f"{self.collective}/{self.name}"

    @property
    def is_builtin(self) -> bool:
        """Whether it is the MPI library's, whose messages nobody sees."""
        return self.entry is not None and self.entry.kind == "built-in"


@dataclass(frozen=True)
class Property:
    """One promise.

    Attributes
    ----------
    check : callable
        ``check(world, function, case)``, which looks for a counterexample, or
        ``check(world, function, case, entry)``, where it compares a claim.
    cases, ranks : callable, sequence of int
        Where it is worth checking.
    needs : frozenset of str
        What a world must show for it.
    refused_too : bool
        Whether cases count that the entry requires not to be asked.
    """

    check: Check
    cases: Cases
    ranks: Sequence[int]
    needs: frozenset[str] = frozenset()
    refused_too: bool = False

    @property
    def name(self) -> str:
        return self.check.__name__

    @property
    def summary(self) -> str:
        """The promise in one sentence."""
        return (self.check.__doc__ or "").strip().partition("\n")[0]

    @property
    def is_claim(self) -> bool:
        """Whether only a registry entry can make this promise."""
        entry = parameters(self.check).get("entry")
        return entry is not None and entry.default is inspect.Parameter.empty

    def missing(self, world: World, subject: Subject) -> str | None:
        """Return why the promise cannot be observed of `subject` in a world; None if it can."""
        hidden = {"messages", "rendezvous"} if subject.is_builtin else set()
        absent = sorted(self.needs - (world.shows - hidden))
        return SHOWN[absent[0]] if absent else None

    def asked(self, subject: Subject, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
        """Yield the cases that `subject` can do; in place, where it can do no other."""
        entry = subject.entry
        for variant in ({}, *(entry.variants if entry else ())):
            sizes = [p for p in ranks if self._worth(p, ranks) and (not variant or p in FEW)]
            for plain in self.cases(subject.collective, sizes):
                if variant and plain.n >= LARGE // plain.p:
                    continue  # small segments of a large vector would be too many messages
                case = replace(plain, chosen=tuple(variant.items()))
                if self.refused_too or can(subject, case):
                    yield case
                elif can(subject, replace(case, in_place=True)):
                    yield replace(case, in_place=True)

    def _worth(self, p: int, ranks: Sequence[int]) -> bool:
        """Tell whether to check with p ranks: those of the grid, or the most, or any few."""
        if self.ranks is RANKS:
            return True
        return p in self.ranks or (self.ranks is FEW and p == max(ranks) < FEW[-1] * 2)

    def judge(self, world: World, subject: Subject, case: Case) -> Finding | Note | None:
        """Check one case."""
        given: dict[str, Any] = {"world": world, "function": subject.function, "case": case}
        given |= {"entry": subject.entry, "ran": subject.ran}
        return self.check(**taken_by(self.check, given))

    def counterexample(
        self, entry: Algorithm, ranks: Sequence[int] = RANKS, world: World = SIMULATED
    ) -> str | None:
        """Return where `entry` breaks the promise first; None if on none of the cases.

        Parameters
        ----------
        entry : Algorithm
            What is checked; ``dataclasses.replace(entry, function=...)`` holds another function
            to the same claims.
        ranks : sequence of int
            The numbers of ranks to look at.
        world : World
            Where it runs.
        """
        subject = Subject(entry.collective, entry.name, entry.function, entry)
        for case in self.asked(subject, ranks):
            found = self.judge(world, subject, case)
            if isinstance(found, Finding):
                return f"{subject} {found.case}: {found}"
        return None


PROPERTIES: dict[str, Property] = {}
"""Every promise by its name, in the order in which they are checked."""


def promise(
    cases: Cases = grid, ranks: Sequence[int] = RANKS, needs: str = "", *, refused_too: bool = False
) -> Callable[[Check], Check]:
    """Enter a check into `PROPERTIES`; `needs` are words of `worlds.SHOWN`."""

    def enter(check: Check) -> Check:
        wanted = frozenset(word for word in SHOWN if word in needs)
        PROPERTIES[check.__name__] = Property(check, cases, ranks, wanted, refused_too)
        return check

    return enter


# ------------------------------------------------------------------ what can be asked


def can(subject: Subject, case: Case) -> bool:
    """Tell whether the target is to do this case."""
    if subject.cannot(case) is not None:
        return False
    return subject.entry is None or not unmet(subject.entry, case)


def unmet(entry: Algorithm, case: Case) -> list[Requirement]:
    """Return what the entry requires and the case does not give."""
    comm: Any = SimpleNamespace(rank=case.root, size=case.p, Allreduce=None)
    if case.form.on_grid:
        near = case.neighbours(case.root)
        comm = SimpleNamespace(**vars(comm), inedges=near, outedges=near, **case.torus)
    buffers = (Phantom(size(case.root), UINT64) for size in (case.input_size, case.room))
    given = case.buffers(case.root, *buffers) | case.options(case.root)
    check = getattr(arguments, case.collective)
    call = {"comm": comm} | check(comm, **taken_by(check, given)) | own_options(entry, case)
    return [need for need in entry.requires if not need.holds(call)]


def own_options(entry: Algorithm, case: Case) -> dict[str, Any]:
    """Return the values of the options that this algorithm has and its collective has not."""
    shared = parameters(getattr(arguments, case.collective))
    takes = parameters(entry.function)
    return {x: takes[x].default for x in takes if x not in shared} | dict(case.chosen)
