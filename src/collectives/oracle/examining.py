"""A check under way: promise by promise, case by case, and what is told if it ends early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from collectives.comm import in_mpi
from collectives.launch import under_mpi
from collectives.oracle.cases import Case
from collectives.oracle.families import suspected
from collectives.oracle.findings import Finding, Note
from collectives.oracle.known import known
from collectives.oracle.promises import NotClaimed, NotObservable, Property, Subject
from collectives.oracle.report import Fault, Report
from collectives.oracle.request import Asked
from collectives.oracle.targets import Target
from collectives.oracle.trials import dtype_of, forget, other_values, trial
from collectives.oracle.verdicts import Result, would_be
from collectives.oracle.worlds import Ending, World

ENOUGH: Final = 12
"""Broken cases of one promise after which real ranks go on to the next."""

TRIES: Final = 3
"""How often the only case is judged, unless it breaks a promise earlier."""

Progress: TypeAlias = Callable[[str, str, int, int], None]
"""``progress(target, property, done, total)``."""


@dataclass
class Examination:
    """A check under way: what it is about, and the report so far."""

    target: Target
    world: World
    asked: Asked
    progress: Progress | None
    before: Callable[[Fault], None] | None
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
            self._examine(self.results[-1], subject)
            if self.results[-1].hung:
                break  # it would take as long again, case after case
        self.close()

    def close(self) -> None:
        """Add the verdicts on the function to the report."""
        subject = self.subject
        assert subject is not None
        evidence = {result.promised.name: result.evidence for result in self.results}
        suspicion = suspected(evidence)
        found = [
            result.verdict(
                self.target, subject, self.world, suspicion, evidence, self.asked.words()
            )
            for result in self.results
        ]
        verdicts = [verdict for verdict in found if verdict is not None]
        left_out = getattr(self.target, "left_out", {}).get(subject.collective)
        if left_out and verdicts:
            detail = f"left out: {'; '.join(left_out)}"
            whole = f"{verdicts[0].detail}; {detail}" if verdicts[0].detail else detail
            verdicts[0] = replace(verdicts[0], detail=whole)
        self.report += Report("", "", tuple(verdicts))

    def _examine(self, result: Result, subject: Subject) -> None:
        """Check one promise on all of its cases."""
        promised, world = result.promised, self.world
        if promised.is_claim and subject.entry is None:
            result.unclaimed = "the target claims nothing of the kind"
            return
        if missing := promised.missing(world, subject):
            result.missing = missing
            return
        for case in self.asked.cases(promised, subject, world):
            result.case = case
            self._announce(promised, subject, case)
            found = self._judged(promised, subject, case)
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
                    if not result.evidence.broken and not self._breaks_again(
                        found, promised, subject
                    ):
                        result.comes_and_goes = True
                    result.evidence.broken.append(found)
                    if result.hung or (under_mpi() and len(result.evidence.broken) >= ENOUGH):
                        break
                continue
            if isinstance(found, Note):
                result.notes[found.text] = result.notes.get(found.text, 0) + 1
            result.evidence.held.append(case)

    def _judged(self, promised: Property, subject: Subject, case: Case) -> Finding | Note | None:
        """Judge one case; the only one again, after a call with other data, which may be kept."""
        found = promised.judge(self.world, subject, case)
        for _ in range(TRIES - 1 if self.asked.case else 0):
            if isinstance(found, Note | Finding):
                break
            forget()
            trial(self.world, subject.function, case, payload=other_values)
            found = promised.judge(self.world, subject, case)
        return found

    def _breaks_again(self, found: Finding, promised: Property, subject: Subject) -> bool:
        """Tell whether a case breaks a promise when it is judged again, with calls of its own."""
        if found.kind == "hung":
            return True
        forget()
        return isinstance(promised.judge(self.world, subject, found.case), Finding)

    def _announce(self, promised: Property, subject: Subject, case: Case) -> None:
        """Say what is called next, for whoever is left to tell how that ended."""
        announce = getattr(self.world, "announce", None)
        if announce is None and self.before is None:
            return
        fault = would_be(case, promised, self.target, subject, self.world)
        if announce is not None:
            announce(f"{subject} {promised.name} {case}", fault.command)
        if self.before is not None:
            self.before(fault)

    def hung(self, story: Ending) -> Report:
        """Return the report of a check that ends here, for the reason told."""
        last = self.results[-1]
        case = last.case or Case(self.subject.collective if self.subject else "barrier", 1)
        last.evidence.broken.insert(0, Finding(case, story.text, story.kind, story.rank))
        self.close()
        return self.report


def _declines(promised: Property, subject: Subject, found: Finding) -> bool:
    """Tell whether a function says that it cannot do a case, and may: nobody claims that it can."""
    if found.kind == "refused":
        return subject.may_refuse or subject.entry is None
    beyond = promised.name in ("works_in_place", "order_kept") or not in_mpi(dtype_of(found.case))
    return subject.entry is None and found.kind == "raised" and beyond
