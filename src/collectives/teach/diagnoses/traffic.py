"""Right values that cost too much."""

from __future__ import annotations

from collectives.teach.diagnoses.questions import one_does_all, own_send
from collectives.teach.diagnosis import first_phase, head, mistake
from collectives.teach.evidence import Evidence


@mistake(
    "knows-too-much", "a result that was not computed from messages",
    what="{text}",
    why="numbers of other ranks can only come by message",
    hint="which message brings them?", look=head,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "less"


@mistake(
    "own-block-sent", "the own block sent as a message",
    what="{text}: each rank sends a message to itself",
    why="what a rank has it can copy; a message to itself costs what every message costs",
    hint="which of the p blocks is already where it has to go?", look=own_send,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind in ("bytes", "messages", "steps") and own_send(e) and e.extra_messages() == 1


@mistake(
    "one-step-too-many", "one step too many; the extra sum is overwritten later",
    what="{text}: each rank sends one message more than it needs",
    why="p - 1 steps are enough; what the extra one adds is overwritten afterwards",
    hint="after how many hops has a block visited every rank?", look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind in ("bytes", "messages", "steps") and e.extra_messages() == 1


@mistake(
    "whole-vectors", "whole vectors where blocks would do",
    what="{text}: every message carries the whole vector",
    why="a rank needs each block of the total only once",
    hint="which part of the vector does the neighbour really need?", look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.kind not in ("bytes", "busiest"):
        return False
    size = e.case.blocks.start(e.p)
    return all(m.size >= size for m in e.attempt.sent()) and not one_does_all(e)


@mistake(
    "one-rank-does-all", "one rank that talks to all others, one after the other",
    what="{text}: one rank sends to, or receives from, all others",
    why="the others wait for their turn, and then have nothing to do",
    hint="who else has the data after the first message, and could pass them on?",
    look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind in ("steps", "busiest", "bytes", "messages") and one_does_all(e)


@mistake(
    "one-way-only", "one direction only",
    why="the links of the other direction stay idle",
    hint="what could the second half of the vector do meanwhile?", look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "link"


@mistake(
    "segments-ignored", "the segment length not used",
    why="whole blocks are sent where segments are asked for",
    hint="how many messages make a block of n elements, in segments of at most `segment`?",
    look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "fewer"


@mistake(
    "unbalanced", "one rank that carries more than its share",
    why="the busiest rank sets the time",
    hint="who has nothing to send while this one is busy?", look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "busiest"


@mistake(
    "too-many-bytes", "more bytes than needed",
    why="something travels that its receiver has, or does not need",
    hint="which elements does the receiver not know yet?", look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "bytes"


@mistake(
    "too-many-messages", "more messages than needed",
    why="each message costs its start-up time",
    hint="which two messages go the same way, one after the other?", look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "messages"


@mistake(
    "too-many-steps", "more messages one after the other than needed",
    why="ranks wait for each other where they could work at the same time",
    hint="which sends do not depend on each other?", look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "steps"
