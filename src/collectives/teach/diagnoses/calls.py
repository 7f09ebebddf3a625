"""Calls that break a rule of message passing, or get what they cannot take."""

from __future__ import annotations

from collectives.teach.diagnoses.questions import crossed
from collectives.teach.diagnosis import mistake, where_it_stopped
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
    "no-out", "op called without out",
    what="op has no array to write its result to",
    why="op(lower, higher, out=x) writes into x, so that no new array is made in every step",
    hint="which array holds what is combined so far?",
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "raised" and "wants out" in e.text


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
    "shared-communicator", "own messages and those of a library on one communicator",
    what="a receive gets the message of another function: {text}",
    why="a receive takes any message of its communicator that fits; a library makes its own: Dup",
    hint="on which communicator could that function send, so that nobody else receives it?",
    look=crossed,
)  # fmt: skip
def _(e: Evidence) -> object:
    broken = e.waits or e.kind in ("value", "answer", "truncated", "mistyped", "left over", "race")
    return broken and crossed(e)


@mistake(
    "count-of-bytes", "a wrong count in [buffer, count, MPI.BYTE]",
    why="the count is of elements of the type that is named, and is obeyed without a warning",
    hint="how many bytes are n elements of this array? or what if count and type were left out?",
    look=lambda e: next(e.counted_by_hand(), 0),
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind in ("value", "answer", "truncated", "mistyped") and any(e.counted_by_hand())


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
