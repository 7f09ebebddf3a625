"""Ranks that wait for ever."""

from __future__ import annotations

from collectives.teach.diagnoses.questions import own_message, wrong_peer
from collectives.teach.diagnosis import mistake, waiting_line, where_it_stopped
from collectives.teach.evidence import Evidence


@mistake(
    "tags-differ", "tags that do not match",
    what="ranks wait for a tag that nobody sends",
    why="a receive takes only messages with its tag",
    hint="which tag does the sender use in this step?", look=waiting_line,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.waits and any(
        sent.rank == want.peer and sent.peer == want.rank and sent.tag != want.tag
        for want in e.awaited if want.kind == "receive" and want.tag is not None
        for sent in e.attempt.unmatched
    )  # fmt: skip


@mistake(
    "sends-to-itself", "a rank that sends to itself",
    what="a rank sends a message to itself, and does not receive it",
    why="a message needs a send and a receive; what a rank has it can copy",
    hint="which rank of the loop needs no message?",
    look=own_message,
)  # fmt: skip
def _(e: Evidence) -> object:
    return (e.waits or e.kind == "left over") and e.p > 1 and own_message(e)


@mistake(
    "synchronous-send", "everybody calls Ssend, and only then receives",
    what="all {p} ranks wait in Ssend",
    why="Ssend returns only when the receiver has begun to receive, whatever the size",
    hint="could one call do both?", look=waiting_line,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.waits and e.attempt.cycle and any(m.call == "Ssend" for m in e.awaited)


@mistake(
    "send-before-receive", "everybody sends first and receives later",
    what="all ranks of the circle wait in Send (with short messages the same code finishes)",
    why="a long blocking Send returns only when its partner receives; here nobody gets that far",
    hint="could one call do both?", look=waiting_line,
)  # fmt: skip
def _(e: Evidence) -> object:
    sends = [m for m in e.awaited if m.kind == "send"]
    return e.waits and e.attempt.cycle and sends and e.waits_when_unbuffered


@mistake(
    "partner-not-mutual", "a partner who has another partner: r + d instead of r XOR d",
    what="ranks wait for messages that their partners send to others",
    why="in an exchange the partner of my partner must be me",
    hint="if my partner is f(r), what is f(f(r))?", look=waiting_line,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.exercise.family == "exchange" and wrong_peer(e) and not e.only_powers_of_two


@mistake(
    "rounds-rounded-down", "int(log2(p)) rounds, which are too few",
    what="{text}",
    why="log2(p) is rounded down, so that the ranks beyond the power of two are never reached",
    hint="how many rounds do 5 ranks need?",
    look=lambda e: e.line_with(r"log2?\(") or waiting_line(e),
)  # fmt: skip
def _(e: Evidence) -> object:
    broken = e.waits or e.kind in ("value", "left over", "early")
    return broken and e.line_with(r"log2?\(") and e.only_powers_of_two


@mistake(
    "root-ignored", "virtual ranks forgotten: right for root 0 only",
    what="{text}",
    why="the tree is numbered from rank 0 on, whatever the root",
    hint="what if every rank counted from the root: (rank - root) mod p?",
    look=lambda e: e.line_with(r"\brank\b") or where_it_stopped(e),
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.wrong.attempt is None or not e.case.rooted or not e.case.root:
        return False
    return e.works(root=0)


@mistake(
    "wrong-neighbour", "receiving from the rank that one sends to",
    what="ranks wait for messages from a neighbour who sends the other way",
    why="in a ring what leaves to the right arrives from the left; with 2 ranks both are the same",
    hint="who is it that sends to me?", look=waiting_line,
)  # fmt: skip
def _(e: Evidence) -> object:
    return wrong_peer(e) and e.exercise.family == "ring"


@mistake(
    "empty-message-left-out", "empty messages left out on one side only",
    what="ranks wait for messages of no elements that nobody sends",
    why="an empty message is a message: who receives one waits until it is sent",
    hint="do both sides know from the counts that the block is empty?", look=waiting_line,
)  # fmt: skip
def _(e: Evidence) -> object:
    if not e.waits or e.exercise.family != "exchange" or not e.case.counts:
        return False
    return 0 in e.case.counts and e.works(counts=(3,) * e.p)


@mistake(
    "receive-before-send", "everybody receives first and sends later",
    what="all ranks of the circle wait in Recv",
    why="a receive returns when its message is there, and everybody who would send it waits too",
    hint="who sends the first message?", look=waiting_line,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.waits and e.attempt.cycle and all(m.kind == "receive" for m in e.awaited)


@mistake(
    "left-early", "a rank that returns while others still wait for it",
    what="{text}",
    why="a rank that has returned sends nothing any more",
    hint="which ranks does the loop leave out, and who waits for them?", look=waiting_line,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.waits and not e.attempt.cycle


@mistake(
    "deadlock", "ranks that wait for each other",
    what="ranks wait in a circle: {text}",
    why="each waits for the next, and nobody can go on",
    hint="which of these calls could be made first?", look=waiting_line,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.waits
