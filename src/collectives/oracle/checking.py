"""Check a target: every promise of every collective, with a verdict that all ranks share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from collectives.comm import in_mpi
from collectives.launch import under_mpi
from collectives.oracle.cases import Case
from collectives.oracle.families import suspected
from collectives.oracle.findings import Finding, Note
from collectives.oracle.grids import parse_case
from collectives.oracle.known import known
from collectives.oracle.promises import NotClaimed, NotObservable, Property, Subject
from collectives.oracle.properties import PROPERTIES
from collectives.oracle.report import Report
from collectives.oracle.targets import OfPython, Target, functions, registered
from collectives.oracle.trials import dtype_of
from collectives.oracle.verdicts import Result
from collectives.oracle.worlds import SIMULATED, Ending, World
from collectives.registry import Algorithm, known_collective

RANKS: Final = range(1, 10)
"""Numbers of ranks in simulation, where none are given."""

ENOUGH: Final = 12
"""Broken cases of one promise after which real ranks go on to the next."""

WITH_BIG: Final = 120.0
"""Seconds of patience, at least, for vectors of gigabytes, which take so long."""

QUICK: Final = (1, 2, 3, 4, 5)
"""Numbers of ranks for a check between two edits."""

Progress: TypeAlias = Callable[[str, str, int, int], None]
"""``progress(target, property, done, total)``."""


@dataclass(frozen=True)
class Asked:
    """What of a target is checked, and how.

    Attributes
    ----------
    ranks : sequence of int
        Numbers of ranks; those that the world has where empty.
    only, skip : collection of str
        Names of promises.
    quick, big : bool
        Fewer cases; sizes that need much memory, too.
    case : str
        The only case, such as ``p=5 n=7 op=MAX``.
    """

    ranks: Sequence[int] = ()
    only: Collection[str] = ()
    skip: Collection[str] = ()
    quick: bool = False
    big: bool = False
    case: str = ""

    def __post_init__(self) -> None:
        for name in (*self.only, *self.skip):
            if name not in PROPERTIES:
                raise ValueError(f"no promise {name!r}; there are {', '.join(PROPERTIES)}")

    def properties(self) -> list[Property]:
        """Return the promises to check."""
        return [
            promised
            for name, promised in PROPERTIES.items()
            if (not self.only or name in self.only) and name not in self.skip
        ]

    def sizes(self, world: World) -> list[int]:
        """Return the numbers of ranks to check with."""
        ranks = self.ranks or (QUICK if self.quick else RANKS)
        if self.case:
            ranks = [parse_case("allreduce", self.case).p]
        sizes = [p for p in ranks if p in world.sizes]
        if not sizes:
            has = f"{min(world.sizes)} to {max(world.sizes)}"
            raise ValueError(f"{world.name} has {has} ranks, asked are {list(ranks)}")
        return sizes


def check(
    target: Target | Algorithm | Callable[..., None] | str,
    collective: str,
    *,
    world: World | None = None,
    ranks: Sequence[int] | None = None,
    only: Collection[str] = (),
    skip: Collection[str] = (),
    quick: bool = False,
    big: bool = False,
    case: str = "",
    progress: Progress | None = None,
    patience: float = 10.0,
    on_hang: Callable[[Report], None] | None = None,
) -> Report:
    """Check whether a target keeps what a collective promises.

    Parameters
    ----------
    target : Target, Algorithm, callable or str
        What is checked: a function with the signature of the collective, see
        `collectives.arguments`; a registered algorithm or its name; ``ALL`` for all of them.
    collective : str
        Such as ``allreduce``, or ``ALL``.
    world : World, optional
        Where it runs; under mpirun the ranks of the job, else simulated ranks.
    ranks : sequence of int, optional
        The numbers of ranks.
    only, skip : collection of str
        Names of promises, see `collectives.oracle.properties.PROPERTIES`.
    quick, big : bool
        Fewer cases; or sizes that need gigabytes, too.
    case : str
        The only case, as faults name it.
    progress : callable, optional
        Called as ``progress(target, property, done, total)``.
    patience : float
        Seconds without any progress after which ranks under MPI are taken to hang.
    on_hang : callable, optional
        Given the report so far before the job is ended, on the one rank that tells it; it is
        printed where this is not given.

    Returns
    -------
    Report
        The same on all ranks.

    Examples
    --------
    Somebody's all-reduce, which forgets the last element where the vector cannot be halved:

    >>> import numpy as np
    >>> def mine(comm, sendbuf, recvbuf, op):
    ...     recvbuf[:] = sendbuf
    ...     usable = sendbuf.size // 2 * 2
    ...     for step in range(1, comm.size):
    ...         other = np.empty_like(sendbuf)
    ...         dest, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
    ...         comm.Sendrecv(sendbuf, dest=dest, recvbuf=other, source=source)
    ...         op(recvbuf[:usable], other[:usable], out=recvbuf[:usable])
    >>> report = check(mine, "allreduce", ranks=[2, 3], only=["right_values"])
    >>> report.exit_code
    1
    >>> fault = report.faults[0]
    >>> fault.case, fault.rank, fault.element, fault.family
    ('p=2 n=1', 0, 0, 'F3 boundary')
    """
    chosen = _target(target, collective)
    judged = getattr(chosen, "report", None)
    if judged is not None:  # its ranks have run already
        return judged(collective, only=only, skip=skip, ranks=ranks or (), case=case)  # type: ignore[no-any-return]
    asked = Asked(tuple(ranks or ()), only, skip, quick, big, case)
    subjects = chosen.subjects(collective)
    world = world or chosen.world(max(patience, WITH_BIG) if big else patience)
    if world is SIMULATED:
        subjects = [x for x in subjects if not x.is_builtin]
    if not subjects:
        raise ValueError(f"{world.name}: there is nothing of {chosen.name} to check there")
    asked.sizes(world)
    world.big = big
    run = _Run(chosen, world, asked, progress, Report(chosen.name, world.name, ()))
    if hasattr(world, "on_hang"):
        tell = on_hang or (lambda report: print(report.text(), flush=True))
        world.on_hang = lambda story: tell(run.hung(story))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of targets that overflow on NaN and such
        for subject in subjects:
            run.check(subject)
    return run.report


def _target(target: Any, collective: str) -> Target:
    if collective != "ALL":
        known_collective(collective)
    if isinstance(target, str):
        return functions(collective, target)
    if isinstance(target, Algorithm):
        return OfPython(str(target), (registered(target),))
    if hasattr(target, "subjects"):
        return target  # type: ignore[no-any-return]
    name = getattr(target, "__name__", type(target).__name__)
    return OfPython(name, (Subject(collective, name, target),))


# ------------------------------------------------------------------ one target


@dataclass
class _Run:
    """A check under way: what it is about, and the report so far."""

    target: Target
    world: World
    asked: Asked
    progress: Progress | None
    report: Report
    results: list[Result] = field(default_factory=list)
    subject: Subject | None = None

    def check(self, subject: Subject) -> None:
        """Check every promise of one function."""
        self.results, self.subject = [], subject
        properties = self.asked.properties()
        for number, promised in enumerate(properties):
            if self.progress is not None:
                self.progress(str(subject), promised.name, number, len(properties))
            self.results.append(Result(promised))
            _examine(self.results[-1], subject, self.world, self.asked)
        self.close()

    def close(self) -> None:
        """Add the verdicts on the function to the report."""
        subject = self.subject
        assert subject is not None
        evidence = {result.promised.name: result.evidence for result in self.results}
        suspicion = suspected(evidence)
        found = [
            result.verdict(self.target, subject, self.world, suspicion, evidence)
            for result in self.results
        ]
        verdicts = [verdict for verdict in found if verdict is not None]
        left_out = getattr(self.target, "left_out", {}).get(subject.collective)
        if left_out and verdicts:
            detail = f"left out: {'; '.join(left_out)}"
            whole = f"{verdicts[0].detail}; {detail}" if verdicts[0].detail else detail
            verdicts[0] = replace(verdicts[0], detail=whole)
        self.report += Report("", "", tuple(verdicts))

    def hung(self, story: Ending) -> Report:
        """Return the report of a check that ends here, for the reason told."""
        last = self.results[-1]
        case = last.case or Case(self.subject.collective if self.subject else "barrier", 1)
        last.evidence.broken.insert(0, Finding(case, story.text, story.kind, story.rank))
        self.close()
        return self.report


def _examine(result: Result, subject: Subject, world: World, asked: Asked) -> None:
    """Check one promise on all of its cases."""
    promised, announce = result.promised, getattr(world, "announce", None)
    if promised.is_claim and subject.entry is None:
        result.unclaimed = "the target claims nothing of the kind"
        return
    if missing := promised.missing(world, subject):
        result.missing = missing
        return
    for case in _cases(promised, subject, world, asked):
        result.case = case
        if announce is not None:
            announce(f"{subject} {promised.name} {case}")
        found = promised.judge(world, subject, case)
        if isinstance(found, NotClaimed):
            result.unclaimed = found.text
            break
        if isinstance(found, NotObservable):
            result.missing = found.text
            break
        if isinstance(found, Finding):
            news = known(world.name, promised.name, subject, found)
            if news:
                result.known[news] = result.known.get(news, 0) + 1
            elif _declines(promised, subject, found):
                result.refused = found.text
                result.refusals += 1
            else:
                result.evidence.broken.append(found)
                if under_mpi() and len(result.evidence.broken) >= ENOUGH:
                    break
            continue
        if isinstance(found, Note):
            result.notes[found.text] = result.notes.get(found.text, 0) + 1
        result.evidence.held.append(case)


def _declines(promised: Property, subject: Subject, found: Finding) -> bool:
    """Tell whether a function says that it cannot do a case, and may: nobody claims that it can."""
    if found.kind == "refused":
        return subject.may_refuse or subject.entry is None
    beyond = promised.name == "works_in_place" or not in_mpi(dtype_of(found.case))
    return subject.entry is None and found.kind == "raised" and beyond


def _cases(promised: Property, subject: Subject, world: World, asked: Asked) -> Iterator[Case]:
    """Yield the cases to check: the one asked for, or those that the world has time for."""
    if asked.case:
        yield parse_case(subject.collective, asked.case)
        return
    sizes = asked.sizes(world)
    most = max(sizes)
    for number, case in enumerate(promised.asked(subject, sizes)):
        if under_mpi() and case.p not in (2, 3, most) and number % 4:
            continue  # real ranks are slow: fewer cases where they are neither few nor all
        if asked.quick and case.dtype and case.p not in (3, most):
            continue
        yield case
