"""What a check has found, in the forms in which it is read: text, JSON, JUnit, Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, TypeAlias
from xml.etree import ElementTree

from collectives.oracle.families import TELLING

Status: TypeAlias = Literal["held", "broken", "not observable", "not claimed", "could not run"]

HELD: Final = 0
FAULT: Final = 1
COULD_NOT_RUN: Final = 2
"""Exit codes."""

_WORDS: Final = {"held": "PASS", "broken": "FAIL", "could not run": "ERROR"}


@dataclass(frozen=True)
class Fault:
    """The first case in which a promise is broken.

    Attributes
    ----------
    property, collective, name : str
        Which promise, of what.
    case : str
        The call, as ``--case`` takes it.
    text : str
        What is wrong, in a sentence.
    family : str
        What is suspected, such as ``F1 contribution``.
    command : str
        What repeats exactly this case.
    rank, element, block : int or None
        Where it shows first.
    counted : dict
        How often each rank is in that element; None where that was not counted.
    got, wanted : str
        What is there, and what should be.
    """

    property: str
    collective: str
    name: str
    case: str
    text: str
    family: str = ""
    command: str = ""
    rank: int | None = None
    element: int | None = None
    block: int | None = None
    counted: dict[int, int] | None = None
    got: str = ""
    wanted: str = ""

    def lines(self) -> Iterator[str]:
        """Yield the fault for people."""
        yield f"{self.collective}/{self.name} {self.case}: {self.text}"
        if self.counted is not None:
            often = ", ".join(f"rank {r}: {n}" for r, n in self.counted.items() if n != 1)
            yield f"    counted: {often or 'every rank once'}"
        if self.family:
            yield f"    suspected: {self.family}"
        yield f"    again: {self.command}"


@dataclass(frozen=True)
class Verdict:
    """What became of one promise of one target.

    Attributes
    ----------
    property, collective, name : str
        Which promise, of what.
    status : str
        ``held``, ``broken``, ``not observable``, ``not claimed`` or ``could not run``.
    cases : int
        On how many cases it was checked.
    detail : str
        Why it was not, or what else there is to say.
    fault : Fault or None
        Where it is broken first.
    """

    property: str
    collective: str
    name: str
    status: Status
    cases: int = 0
    detail: str = ""
    fault: Fault | None = None


@dataclass(frozen=True)
class Report:
    """What was checked, where, and what was found.

    Attributes
    ----------
    target, world : str
        What, and on which ranks.
    verdicts : tuple of Verdict
        One for every promise of every collective.
    """

    target: str
    world: str
    verdicts: tuple[Verdict, ...]

    def __add__(self, other: Report) -> Report:
        return replace(self, verdicts=self.verdicts + other.verdicts)

    @property
    def faults(self) -> list[Fault]:
        """Every broken promise, the most telling first."""
        found = [verdict.fault for verdict in self.verdicts if verdict.fault is not None]
        return sorted(found, key=_is_beside_the_point)

    @property
    def exit_code(self) -> int:
        """0 if all held, 1 if a fault was found, 2 if something could not be run."""
        found = {verdict.status for verdict in self.verdicts}
        if "broken" in found:
            return FAULT
        return HELD if "held" in found and "could not run" not in found else COULD_NOT_RUN

    # ------------------------------------------------------------------ for people

    def text(self) -> str:
        """Return the report for a terminal: all promises of one target, a line for each of many."""
        groups = self._groups()
        lines = [f"{self.target}, {self.world}"]
        for (collective, name), verdicts in groups.items():
            if len(groups) == 1:
                lines += [f"{collective}/{name}", *_each(verdicts)]
            else:
                lines.append(_summary(f"{collective}/{name}", verdicts))
        families = dict.fromkeys(fault.family for fault in self.faults if fault.family)
        for fault in self._shown_faults():
            lines += ["", *fault.lines()]
        count = {word: sum(v.status == word for v in self.verdicts) for word in _ORDER}
        lines += ["", ", ".join(f"{n} {word}" for word, n in count.items() if n)]
        if families:
            lines[-1] += f"; suspected: {', '.join(families)}"
        return "\n".join(lines)

    def markdown(self) -> str:
        """Return the report as Markdown: a matrix of targets and promises, then the faults."""
        groups = self._groups()
        names = list(dict.fromkeys(verdict.property for verdict in self.verdicts))
        head = ["", *(f"`{c}/{n}`" for c, n in groups)]
        lines = [f"{self.target}, {self.world}", "", _row(head), _row(["---"] * len(head))]
        for name in names:
            cells = [
                next((_CELLS[v.status] for v in verdicts if v.property == name), "")
                for verdicts in groups.values()
            ]
            lines.append(_row([f"`{name}`", *cells]))
        lines += ["", "✓ held, ✗ broken, - not observable or not claimed, ! could not run"]
        for fault in self._shown_faults():
            lines += ["", "```", *fault.lines(), "```"]
        return "\n".join(lines)

    def _groups(self) -> dict[tuple[str, str], list[Verdict]]:
        groups: dict[tuple[str, str], list[Verdict]] = {}
        for verdict in self.verdicts:
            groups.setdefault((verdict.collective, verdict.name), []).append(verdict)
        return groups

    def _shown_faults(self) -> list[Fault]:
        """Return the first fault of every target."""
        shown: dict[tuple[str, str], Fault] = {}
        for fault in self.faults:
            shown.setdefault((fault.collective, fault.name), fault)
        return list(shown.values())

    # ------------------------------------------------------------------ for programs

    def as_json(self) -> dict[str, Any]:
        """Return the report as what `json` writes."""
        code = self.exit_code
        return {"target": self.target, "world": self.world, "exit_code": code} | {
            "verdicts": [asdict(verdict) for verdict in self.verdicts]
        }

    def json(self) -> str:
        return json.dumps(self.as_json(), indent=2)

    def junit(self) -> str:
        """Return the report as JUnit XML: a suite per target, a case per promise."""
        root = ElementTree.Element("testsuites", name=f"{self.target}, {self.world}")
        for (collective, name), verdicts in self._groups().items():
            bad = [sum(v.status == x for v in verdicts) for x in ("broken", "could not run")]
            idle = sum(v.status.startswith("not ") for v in verdicts)
            suite = ElementTree.SubElement(
                root, "testsuite", name=f"{collective}/{name}", tests=str(len(verdicts)),
                failures=str(bad[0]), errors=str(bad[1]), skipped=str(idle),
            )  # fmt: skip
            for verdict in verdicts:
                _junit_case(suite, verdict)
        ElementTree.indent(root)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode")


def _is_beside_the_point(fault: Fault) -> bool:
    telling = TELLING.get(fault.family.partition(" ")[0], ())
    return fault.property not in telling


def _junit_case(suite: ElementTree.Element, verdict: Verdict) -> None:
    place = f"{verdict.collective}.{verdict.name}"
    case = ElementTree.SubElement(suite, "testcase", classname=place, name=verdict.property)
    if verdict.fault is not None:
        lines = list(verdict.fault.lines())
        told = ElementTree.SubElement(case, "failure", message=lines[0], type=verdict.fault.family)
        told.text = "\n".join(lines)
    elif verdict.status == "could not run":
        ElementTree.SubElement(case, "error", message=verdict.detail)
    elif verdict.status != "held":
        ElementTree.SubElement(case, "skipped", message=f"{verdict.status}: {verdict.detail}")


_ORDER: Final[tuple[Status, ...]] = (
    "held", "broken", "not observable", "not claimed", "could not run",
)  # fmt: skip
_CELLS: Final = {
    "held": "✓", "broken": "✗", "not observable": "-", "not claimed": "-", "could not run": "!",
}  # fmt: skip


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _each(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for verdict in verdicts:
        word = _WORDS.get(verdict.status, "-")
        detail = verdict.detail or f"{verdict.cases} cases"
        if verdict.fault is not None:
            detail = f"{verdict.fault.case}: {verdict.fault.text}".partition("\n")[0]
        elif verdict.status.startswith("not "):
            detail = f"{verdict.status}: {detail}"
        yield f"  {verdict.property:28}{word:6}{detail}"


def _summary(label: str, verdicts: Sequence[Verdict]) -> str:
    broken = [verdict for verdict in verdicts if verdict.status == "broken"]
    failed = [verdict for verdict in verdicts if verdict.status == "could not run"]
    if broken:
        return f"FAIL  {label:36} {', '.join(verdict.property for verdict in broken)}"
    if failed:
        return f"ERROR {label:36} {failed[0].detail}"
    held = sum(verdict.status == "held" for verdict in verdicts)
    idle = [f"{n} {x}" for x in _ORDER[2:4] if (n := sum(v.status == x for v in verdicts))]
    known = [verdict.detail for verdict in verdicts if verdict.detail.startswith("known:")]
    word = "PASS" if held else "-"
    return f"{word:6}{label:36} {', '.join([f'{held} held', *idle, *dict.fromkeys(known)])}"
