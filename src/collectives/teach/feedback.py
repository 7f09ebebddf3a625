"""What a learner reads: the message first, at most six lines, then an honest summary."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from collectives.draw.text import WIDTH, bold
from collectives.teach.diagnosis import Diagnosis
from collectives.teach.evidence import Evidence
from collectives.teach.grader import Grade
from collectives.teach.source_text import printable


def hints(grade: Grade) -> list[str]:
    """Return the ladder of three: a question about this mistake, then two about the exercise."""
    if grade.diagnosis is None or grade.diagnosis.id == "not-written":
        return list(grade.exercise.hints)
    return [grade.diagnosis.hint, *grade.exercise.hints[1:]]


def lines(grade: Grade, *, given: int = 1) -> Iterator[str]:
    """Yield what is printed of a grade, with the last of the `given` hints."""
    yield heading(grade)
    if grade.diagnosis is not None:
        yield from _said("what", grade.said)
        yield from _said("why", grade.diagnosis.why)
        if grade.on_mpi and not _is(grade.diagnosis, "differs-on-mpi"):
            yield from _said("on MPI", grade.on_mpi)
        if look := looked_at(grade):
            yield from _said("look", look, most=1)
        ladder = hints(grade)
        number = max(1, min(given, len(ladder)))
        more = "   (--hint: the next one)" if number < len(ladder) else "   (--give-up: a solution)"
        yield from _said(f"hint {number}/{len(ladder)}", ladder[number - 1] + more)
    if grade.predicted:
        right = same(grade.predicted, grade.exercise.answer)
        said = "right" if right else "not what the run gives: count again once it is correct"
        yield from _said("predict", f"you said {grade.predicted}: {said}")
    yield from _said("summary", summary(grade))


def heading(grade: Grade) -> str:
    """Return the first line: exercise, where it shows, verdict."""
    evidence = grade.evidence
    where = ""
    if evidence is not None and evidence.wrong.attempt is not None:
        where = f"{evidence.case}"
        if evidence.attempt.network.eager_limit == 0:
            where += ", no send buffered"
    verdict = "NOT WRITTEN YET" if _is(grade.diagnosis, "not-written") else grade.verdict
    return f"{bold(grade.exercise.name)}   {where + '   ' if where else ''}{bold(verdict)}"


def looked_at(grade: Grade) -> str:
    """Return the line to look at, with its number."""
    lines = grade.source.splitlines()
    if not 0 < grade.look <= len(lines):
        return ""
    return f"line {grade.look}: {lines[grade.look - 1].strip()[:200]}"


def summary(grade: Grade) -> str:
    """Return how many checks held, and what that does and does not say."""
    held = sum(check.passed for check in grade.checks)
    skipped = [f"{check.name} skipped: {check.skipped}" for check in grade.checks if check.skipped]
    failed = [check.name for check in grade.checks if check.wrong is not None]
    asked = sum(not check.skipped for check in grade.checks)
    words = [f"{held}/{asked} checks on {grade.where or 'simulated ranks'}"]
    if failed:
        values = {"value", "ranks", "lengths", "roots", "types", "answers", "loads"}
        open_ = {c.name.rpartition(": ")[2] for c in grade.checks if c.wrong or c.skipped}
        values_right = not values & open_
        words.append("values right" if values_right and held else "values not right yet")
        words.append(f"failed: {', '.join(failed)}")
    return "; ".join([*words, *skipped])


def more(grade: Grade) -> Iterator[str]:
    """Yield every check, and the first fault in full."""
    for check in grade.checks:
        state = "skipped" if check.skipped else "PASS" if check.wrong is None else "FAIL"
        detail = check.skipped or (check.wrong.text if check.wrong else "")
        detail = printable(" ".join(detail.split()))
        yield f"  {state:8}{check.name:14} {check.tried:3} cases  {detail}"
    if grade.evidence is not None and grade.evidence.wrong.attempt is not None:
        yield from told(grade.evidence)


def told(evidence: Evidence) -> Iterator[str]:
    """Yield what every rank did in the run that failed, or waits for."""
    found = evidence.attempt
    yield f"  the run  {found.case}"
    for stuck in found.stuck:
        waits = " and ".join(
            f"{m.call} {'to' if m.kind == 'send' else 'from'} "
            f"{'any rank' if m.peer is None else f'rank {m.peer}'}"
            f"{'' if m.tag is None else f' (tag {m.tag})'}"
            for m in stuck.messages
        )
        yield f"    rank {stuck.rank} waits in {waits or stuck.call}, line {stuck.line}"
    if found.cycle:
        yield "    in a circle: " + " -> ".join(map(str, [*found.cycle, found.cycle[0]]))
    if not found.stuck:
        for m in found.sent(0)[:20]:
            yield f"    rank 0 sends {m.size} elements to rank {m.peer}, {m.call}, line {m.line}"


def document(grade: Grade) -> dict[str, Any]:
    """Return a grade as plain data."""
    diagnosis = grade.diagnosis
    return {
        "exercise": grade.exercise.name,
        "id": grade.exercise.id,
        "verdict": grade.verdict,
        "passed": grade.passed,
        "diagnosis": diagnosis.id if diagnosis else "",
        "what": grade.said,
        "why": diagnosis.why if diagnosis else "",
        "look": looked_at(grade),
        "predicted": grade.predicted,
        "prediction_right": bool(grade.predicted)
        and same(grade.predicted, grade.exercise.answer),
        "checks": [
            {"check": c.name, "passed": c.passed, "cases": c.tried, "skipped": c.skipped,
             "text": c.wrong.text if c.wrong else ""}
            for c in grade.checks
        ],
    }  # fmt: skip


def as_json(grades: list[Grade]) -> str:
    found = [document(grade) for grade in grades]
    return json.dumps(found[0] if len(found) == 1 else found, indent=2)


def as_junit(grades: list[Grade]) -> str:
    """Return grades as JUnit XML: a suite per exercise, a case per check."""
    root = ElementTree.Element("testsuites")
    for grade in grades:
        suite = ElementTree.SubElement(
            root, "testsuite", name=grade.exercise.name, tests=str(len(grade.checks)),
            failures=str(sum(check.wrong is not None for check in grade.checks)),
        )  # fmt: skip
        for check in grade.checks:
            case = ElementTree.SubElement(
                suite, "testcase", classname=grade.exercise.name, name=check.name
            )
            if check.wrong is not None:
                said = grade.diagnosis.id if grade.diagnosis else ""
                failure = ElementTree.SubElement(case, "failure", message=_xml(said))
                failure.text = _xml(check.wrong.text)
            elif check.skipped:
                ElementTree.SubElement(case, "skipped", message=check.skipped)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def same(said: str, answer: str) -> bool:
    """Tell whether a prediction is right: the same words, or a number within one percent."""
    try:
        return abs(float(said) - float(answer)) <= 0.01 * abs(float(answer))
    except ValueError:
        return said.strip().lower() == answer.strip().lower()


def _said(label: str, text: str, most: int = 2) -> Iterator[str]:
    """Yield one entry, on as few lines as it needs and at `most` so many."""
    words = printable(" ".join(text.split()))
    wrapped = textwrap.wrap(words, WIDTH - 12, max_lines=most, placeholder=" ...")
    for i, line in enumerate(wrapped):
        yield f"  {label if i == 0 else '':10}{line}"


def _is(diagnosis: Diagnosis | None, name: str) -> bool:
    return diagnosis is not None and diagnosis.id == name


def _xml(text: str) -> str:
    """Replace what XML cannot hold."""
    return printable(text)
