"""From what a promise came to, the verdict: with the fault, and the command that repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from collectives.launch import under_mpi
from collectives.oracle.cases import Case
from collectives.oracle.families import Evidence, family
from collectives.oracle.findings import Finding
from collectives.oracle.promises import Property, Subject
from collectives.oracle.report import Fault, Verdict
from collectives.oracle.targets import OfPython, Target
from collectives.oracle.worlds import World


@dataclass
class Result:
    """What one promise came to."""

    promised: Property
    evidence: Evidence = field(default_factory=Evidence)
    notes: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    missing: str = ""
    unclaimed: str = ""
    refused: str = ""
    refusals: int = 0
    comes_and_goes: bool = False
    case: Case | None = None

    @property
    def hung(self) -> bool:
        """Whether a rank did not come back."""
        return any(finding.kind == "hung" for finding in self.evidence.broken)

    def verdict(
        self, target: Target, subject: Subject, world: World, suspicion: str,
        evidence: dict[str, Evidence], grid: Sequence[str],
    ) -> Verdict | None:  # fmt: skip
        """Return the verdict; None where the promise does not concern the collective.

        `grid` are the words that ask for all cases again, for what one case alone does not show.
        """
        made = Verdict(self.promised.name, subject.collective, subject.name, "held")
        cases = len(self.evidence.held) + len(self.evidence.broken)
        told = [f"known: {text}" for text in self.known] + list(self.notes)
        if self.refusals:
            told.append(f"{self.refusals} cases refused")
        detail = "; ".join(told)
        if self.missing:
            return replace(made, status="not observable", detail=self.missing)
        if self.evidence.broken:
            finding = self.evidence.broken[0]
            fault = _fault(finding, self.promised, target, subject, world, suspicion, evidence)
            if self.comes_and_goes:
                text = f"{fault.text}; not when repeated at once"
                command = _command(grid, self.promised, target, subject, world)
                fault = replace(fault, text=text, command=command)
            return replace(made, status="broken", cases=cases, detail=detail, fault=fault)
        if self.unclaimed:
            return replace(made, status="not claimed", cases=cases, detail=self.unclaimed)
        if cases or self.known:
            return replace(made, cases=cases, detail=detail)
        if self.refused:
            raises = f"the target does not offer it: {self.refused}"
            return replace(made, status="not claimed", detail=raises)
        return None


def _fault(
    finding: Finding, promised: Property, target: Target, subject: Subject, world: World,
    suspicion: str, evidence: dict[str, Evidence],
) -> Fault:  # fmt: skip
    case, counted = finding.case, finding
    if finding.counted is None and "every_rank_counted_once" in evidence:
        same = [x for x in evidence["every_rank_counted_once"].broken if x.case == case]
        counted = next((x for x in same if x.rank == finding.rank), finding)
    often = None
    if counted.counted is not None and case.reduces:
        ranks = {*counted.counted, *(counted.wanted_counted or ())}
        often = {rank: counted.counted.count(rank) for rank in sorted(ranks)}
    return Fault(
        promised.name, subject.collective, subject.name, str(case), finding.text,
        family(suspicion) if suspicion else "",
        _command(_only(case), promised, target, subject, world),
        finding.rank, finding.element, finding.block, often, finding.got, finding.wanted,
    )  # fmt: skip


def would_be(
    case: Case, promised: Property, target: Target, subject: Subject, world: World
) -> Fault:
    """Return the fault that it is if ranks do not survive a case."""
    command = _command(_only(case), promised, target, subject, world)
    return Fault(promised.name, subject.collective, subject.name, str(case), "", command=command)


def _only(case: Case) -> list[str]:
    return ["--case", str(case)]


def _command(
    cases: Sequence[str], promised: Property, target: Target, subject: Subject, world: World
) -> str:
    """Return what checks exactly this promise again on these cases."""
    words = ["collectives", "check", subject.collective]
    device, asked = getattr(target, "device", ""), getattr(target, "target", target)
    if isinstance(asked, OfPython):
        words.append(subject.name)
    else:
        words += ["--target", asked.name]
        if subject.name in ("nonblocking", "persistent"):
            words += ["--mode", subject.name]
    words += ["--device", device] if device else []
    words += [*cases, "--only", promised.name]
    launcher = f"mpirun -n {max(world.sizes)} " if under_mpi() else ""
    return launcher + shlex.join(words).replace("'", '"')
