"""Right only while messages come in one order."""

from __future__ import annotations

from collectives.teach.diagnoses.questions import any_source
from collectives.teach.diagnosis import mistake
from collectives.teach.evidence import Evidence


@mistake(
    "any-source", "a receive from any rank, where the order of the ranks matters",
    why="ANY_SOURCE, the default, takes whichever message comes first; each run may differ",
    hint="from which rank should this message be, whoever comes first?", look=any_source,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "race" or (e.kind in ("value", "answer") and any_source(e) and e.order_matters)
