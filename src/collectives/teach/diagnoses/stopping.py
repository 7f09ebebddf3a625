"""Runs that break off: an exception, a rule of message passing, ranks that wait for ever."""

from __future__ import annotations

from collectives.teach.diagnoses.questions import wrong_peer
from collectives.teach.diagnosis import (
    first_phase,
    last_phase,
    mistake,
    waiting_line,
    where_it_stopped,
)
from collectives.teach.evidence import Evidence


@mistake(
    "pickle-and-buffer", "`send` met by `Recv`, or `Send` by `recv`",
    what="one side pickles, the other does not",
    why="send/recv (small letter) move pickled objects, Send/Recv the memory of an array",
    hint="which of the two spellings belongs to arrays?",
    look=lambda e: e.line_with(r"\.(send|recv|sendrecv)\("),
)  # fmt: skip
def _(e: Evidence) -> object:
    small = any(e.calls("send", "recv", "sendrecv"))
    return (
        small
        and e.kind in ("truncated", "mistyped", "raised")
        and (
            e.kind != "raised"
            or e.raised in ("UnpicklingError", "TypeError", "ValueError", "EOFError")
        )
    )


@mistake(
    "not-contiguous", "a strided slice as a buffer",
    why="a message is one piece of memory; a slice with a step, or a column, is many",
    hint="which blocks of a vector are one piece?",
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "raised" and "not contiguous" in e.text


@mistake(
    "same-buffer-twice", "one buffer for both sides of Sendrecv",
    why="what arrives would overwrite what has not been sent yet",
    hint="where could the incoming block wait until the other one has left?",
)  # fmt: skip
def _(e: Evidence) -> object:
    return "of Sendrecv overlap" in e.text


@mistake(
    "in-place-not-said", "one buffer as input and as result of a collective",
    why="MPI wants two buffers that do not overlap, or IN_PLACE in place of the input",
    hint="what stands for an input that lies in the result already?",
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "raised" and e.raised == "ValueError" and "overlap" in e.text


@mistake(
    "no-partner", "pairs by XOR for any number of ranks",
    what="{text}",
    why="rank XOR step is a rank only while p is a power of two",
    hint="which rule gives every rank one receiver and one sender for any p?",
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.exercise.family != "exchange" or e.wrong.attempt is None or e.case.reduces:
        return False
    outside = "wants 0.." in e.text or (e.kind == "raised" and e.raised == "IndexError")
    return outside and e.only_powers_of_two


@mistake(
    "no-fold", "recursive doubling without a place for the ranks beyond a power of two",
    what="{text}",
    why="rank XOR distance is a rank only while p is a power of two",
    hint="what if the surplus ranks handed their vectors in first, and waited?",
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.exercise.family == "exchange" and "wants 0.." in e.text and e.only_powers_of_two


@mistake(
    "no-such-rank", "no test that the peer exists",
    why="ranks are 0 to p - 1: beyond the last one a tree has no child, and a ring begins anew",
    hint="who is this peer for the last rank, and is there one?",
)  # fmt: skip
def _(e: Evidence) -> object:
    return "wants 0.." in e.text and ("dest is" in e.text or "source is" in e.text)


@mistake(
    "changed-before-wait", "overwriting the buffer of an Isend that is under way",
    why="Isend returns before the data have left; they may leave at any time until Wait",
    hint="from when on may the buffer be written to again?",
    look=lambda e: e.line_with(r"\.Isend\(") or where_it_stopped(e),
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "changed"


@mistake(
    "used-before-wait", "using what an Irecv has not brought yet",
    what="line {text}: data are used before they have arrived",
    why="Irecv returns at once; the message is there only after Wait",
    hint="which line makes sure that the message is there?",
    look=lambda e: e.attempt.early_line or e.line_with(r"\.Irecv\("),
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.wrong.attempt is None:
        return False
    return e.attempt.early_line or any(message.early for message in e.attempt.messages)


@mistake(
    "dtype-differs", "a receive buffer of another type than what is sent",
    why="MPI moves bytes: what was sent as one type is read as another",
    hint="which dtype does np.empty make when none is given?",
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.kind == "mistyped":
        return True
    return e.kind == "truncated" and any(
        m.operation.send is not None and m.operation.send.buffer.dtype != m.dtype
        for m in e.attempt.messages
        if m.kind == "receive" and m.payload is None
    )


@mistake(
    "longer-than-buffer", "a receive buffer shorter than the message, or counts that differ",
    why="sender and receiver disagree on how long the block is",
    hint="how does each side work out the length of this block?",
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "truncated"


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


@mistake(
    "unwaited-request", "an Isend or Irecv without a Wait",
    why="without Wait nobody knows when the buffer may be used again",
    hint="where is each request waited for?",
    look=lambda e: e.line_with(r"\.I(send|recv)\("),
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "unwaited"


@mistake(
    "message-left-over", "a message that nobody receives",
    why="sends and receives do not come in pairs",
    hint="who should receive this message?", look=lambda e: last_phase(e),
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
