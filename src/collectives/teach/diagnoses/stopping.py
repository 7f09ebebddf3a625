"""Runs that end with something left undone, or that have to be ended."""

from __future__ import annotations

from collectives.teach.diagnosis import first_phase, mistake
from collectives.teach.evidence import Evidence


@mistake(
    "unwaited-request", "an Isend or Irecv without a Wait",
    why="without Wait nobody knows when the buffer may be used again",
    hint="where is each request waited for?",
    look=lambda e: next((m.line for m in e.attempt.unwaited), 0),
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "unwaited"


@mistake(
    "message-left-over", "a message that nobody receives",
    why="sends and receives do not come in pairs",
    hint="who should receive this message?",
    look=lambda e: next((m.line for m in e.attempt.unmatched), 0),
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "left over"


@mistake(
    "endless-loop", "a rank that neither calls nor returns",
    what="{text} (a time limit, not a deadlock)",
    why="a loop that never ends, or work that takes too long",
    hint="which loop has no way out?", look=lambda e: e.line_with(r"while\b") or 0,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "hung"


@mistake(
    "process-ended", "a rank that ends its process",
    why="a rank that exits, or takes more memory or time than there is, returns nothing",
    hint="what ends the process before the function returns?",
    look=lambda e: e.line_with(r"exit\(|_exit|kill") or 0,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind in ("died", "misbehaved") or e.raised == "SystemExit"


@mistake(
    "too-much-memory", "more memory than a rank may have",
    why="a right solution needs little besides its buffers",
    hint="how many elements does a rank have to hold at a time?",
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.raised == "MemoryError"


@mistake(
    "too-many-calls", "far more calls or bytes than any solution needs",
    why="a loop sends without end",
    hint="how often does the loop run?", look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "too much"
