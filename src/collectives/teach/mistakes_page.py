"""The table of mistakes in ``docs/grader.md``: what the grader knows, and what a learner reads."""

from __future__ import annotations

from collections.abc import Iterator

from collectives.teach.diagnosis import diagnoses
from collectives.teach.exercise import exercises


def table() -> str:
    """Return the table as Markdown: a row per diagnosis, in the order in which they are tried."""
    return "\n".join(_rows())


def _rows() -> Iterator[str]:
    yield "| mistake | diagnosis | what the learner reads | planted in |"
    yield "| --- | --- | --- | --- |"
    planted: dict[str, list[str]] = {}
    for each in exercises().values():
        for mutant in each.mutants:
            planted.setdefault(mutant.diagnosis, []).append(each.id)
    for known in diagnoses().values():
        what = known.what.format(text="...", p="p", raised="...")
        seen = "" if what == "..." else f"{what}; "
        read = f"{seen}{known.why}. *{known.hint}*"
        where = ", ".join(dict.fromkeys(planted.get(known.id, ())))
        yield "| " + " | ".join(map(_cell, (known.mistake, f"`{known.id}`", read, where))) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
