"""What no other rule has named."""

from __future__ import annotations

from collectives.teach.diagnosis import head, mistake
from collectives.teach.evidence import Evidence


@mistake(
    "wrong-answer", "a wrong number",
    why="the answer is not what the model gives",
    hint="put small numbers into the formula by hand", look=head,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "answer"


@mistake(
    "misused", "a rule of message passing broken",
    why="an argument of a call is not what MPI allows",
    hint="what does the call say about this argument?",
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "misused"


@mistake(
    "raised", "an exception on some rank",
    what="{text}",
    why="one rank has stopped; the others would wait for it for ever",
    hint="what are the values in this line on that rank?",
)  # fmt: skip
def _(e: Evidence) -> object:
    return True
