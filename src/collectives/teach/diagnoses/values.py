"""Results with the wrong values in them: what became of the contributions."""

from __future__ import annotations

from collectives.teach.checks import budget
from collectives.teach.diagnoses.questions import (
    all_alike,
    multiple,
    never_more_than_one,
    straight_in,
)
from collectives.teach.diagnosis import first_phase, first_receive, head, last_phase, mistake
from collectives.teach.evidence import Evidence


@mistake(
    "received-into-copy", "receiving into a copy, such as x.flatten() or x[[1, 2]]",
    what="{text}: what arrives goes into a copy",
    why="flatten, astype and lists of indices make new arrays; nobody looks at them afterwards",
    hint="which of these expressions is a view of the result?",
    look=lambda e: next(e.copies(), 0),
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "value" and any(e.copies())


@mistake(
    "view-lost", "chunks[i] = ... binds a name anew instead of writing into the view",
    what="{text}: the sums are made, but not in the result",
    why="assigning to an element of a list replaces the view; the vector itself stays as it was",
    hint="how do you write into an array instead of replacing it?",
    look=lambda e: e.rebinds(),
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.kind != "value" or not e.rebinds() or e.p < 3:
        return False
    return e.keeps_own or e.untouched


@mistake(
    "message-shorter-than-buffer", "a receive buffer longer than the message",
    what="{text}: the end of a buffer was never filled",
    why="a shorter message is no error; the rest of the buffer keeps what it had",
    hint="how many elements has the message?", look=first_receive,
)  # fmt: skip
def _(e: Evidence) -> object:
    return (
        e.kind == "value"
        and e.divides
        and any(
            m.kind == "receive" and m.payload is not None and 0 < m.payload.size < m.size
            for m in e.attempt.messages
        )
    )


@mistake(
    "only-root-right", "expecting a reduction to fill every rank",
    what="{text}: only rank 0, or another single rank, has the total",
    why="after a reduction one rank has the result; the others have to be told",
    hint="how does the total get from the root to everybody?", look=last_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "value" and e.case.same_everywhere and e.p > 2 and len(e.right_ranks) == 1


@mistake(
    "own-block-missing", "the own block not copied",
    what="{text}: only what each rank has itself is missing",
    why="no message brings a rank its own block",
    hint="where in the result does the own block belong, and who puts it there?", look=head,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "value" and e.only_own_block_wrong


@mistake(
    "roots-differ", "ranks that do not agree on who the root is",
    what="{text}",
    why="what one phase leaves on a rank, the next one takes from another",
    hint="on which rank is the total after the first phase?",
    look=last_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.kind != "value" or e.exercise.family != "tree" or not e.case.reduces:
        return False
    alike = e.case.same_everywhere and e.p > 2 and all_alike(e) and not e.right_ranks
    sums = not multiple(e) and not never_more_than_one(e)
    return alike and e.case.op.name == "SUM" and (e.untouched or sums)


@mistake(
    "result-untouched", "a result that is not written",
    what="{text}: the result buffer was not written to",
    why="the result belongs into recvbuf (or buf); what a function returns is not looked at",
    hint="which line writes into the result?", look=head,
)  # fmt: skip
def _(e: Evidence) -> object:
    return (
        e.kind == "value"
        and e.untouched
        and not any(r is not None and r.any() and not r.all() for r in e.right)
    )


@mistake(
    "phase-missing", "one of the two phases, or one of the two halves, left out",
    what="{text}: half of the messages are missing",
    why="the first phase leaves the total in pieces, on different ranks",
    hint="who has which part of the total now, and who needs it?", look=last_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    whole = e.kind == "value" and e.case.reduces and e.case.same_everywhere and e.p > 3
    if not whole:
        return False
    sent, wanted = e.attempt.sent(), budget(e.part, e.case)
    volume = sum(message.size for message in sent)
    return 2 * len(sent) == wanted.messages or 2 * volume == wanted.volume


@mistake(
    "one-step-short", "one step too few",
    what="{text}: each rank takes one step less than it needs",
    why="with p ranks a block has p - 1 hops to go",
    hint="after how many hops has a block visited every rank?", look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return (
        e.kind == "value" and e.p > 2 and e.exercise.family == "ring" and e.extra_messages() == -1
    )


@mistake(
    "wrong-owner", "a reduce-scatter that leaves another rank's block",
    what="{text}: another rank's block",
    why="block r of the result belongs on rank r; all blocks are shifted",
    hint="on which rank must a block start, to be complete on its owner?", look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "value" and e.case.form.gets == "block" and e.moved_between_ranks


@mistake(
    "wrong-block-sent", "a reduce-scatter that sends the wrong block",
    what="{text}: sums of blocks that do not belong together",
    why="the block that a rank sends is not the one that its neighbour adds it to",
    hint="rank r adds to block (r - s - 1) in step s; which block must its left neighbour send?",
    look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "value" and e.misplaced


@mistake(
    "reduce-scatter-assigns", "a reduce-scatter that replaces instead of adding",
    what="{text}: each block holds one rank's numbers only",
    why="what comes in replaces what was there",
    hint="what should become of the block that is already there?", look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return never_more_than_one(e) and not straight_in(e)


@mistake(
    "receives-into-accumulator", "receiving straight into the block that is to be added to",
    what="{text}: each block holds one rank's numbers only",
    why="a receive overwrites its buffer: what was to be added to is gone",
    hint="where could the incoming block wait until it is added?", look=first_receive,
)  # fmt: skip
def _(e: Evidence) -> object:
    return never_more_than_one(e)


@mistake(
    "allgather-adds", "an all-gather that adds instead of copying",
    what="{text}: complete blocks are added once more",
    why="in the second phase blocks are complete; adding counts ranks twice",
    hint="what is to be done with a block that is complete?", look=last_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.kind != "value" or e.exercise.family != "ring" or e.p < 3 or not multiple(e):
        return False
    sums = e.contributors(0)
    second = sums[e.p - 1 : 2 * (e.p - 1)]
    return sums[: e.p - 1] == list(range(1, e.p)) and max(second, default=0) > e.p


@mistake(
    "counted-twice", "ranks that are in the sum more than once",
    what="{text}: some ranks are counted more than once",
    why="a partial sum meets a part of itself",
    hint="who is in the sum that arrives, and who is in mine?", look=last_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "value" and multiple(e)


@mistake(
    "allgather-starts-wrong", "an all-gather that starts with a block that is not complete",
    what="{text}: blocks travel on that are not complete",
    why="after p - 1 steps one block is complete on each rank, and it is not the one that is sent",
    hint="which block did the last step of the first phase complete on rank r?", look=last_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.kind != "value" or e.exercise.family != "ring" or e.p < 3 or not e.case.reduces:
        return False
    sums = e.contributors(0)
    return len(sums) >= e.p and sums[: e.p - 1] == list(range(1, e.p)) and sums[e.p - 1] < e.p


@mistake(
    "cut-elsewhere", "blocks cut from the wrong places",
    what="{text}: another part of the root's vector",
    why="block i begins where all blocks before it end",
    hint="at which element does block 0 begin, and at which does block 1?", look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "value" and e.case.form.from_root and e.case.form.gets == "block"


@mistake(
    "right-in-wrong-places", "the right blocks in the wrong order",
    what="{text}: all blocks are there, in other places",
    why="a block's place is that of the rank that it is from",
    hint="whose block is it that arrives in step s?", look=last_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "value" and e.moved


@mistake(
    "powers-of-two-only", "right only when p is a power of two",
    what="{text}; with 2 and 4 ranks it is right",
    why="the pattern leaves out the ranks beyond the power of two",
    hint="draw it with 3 ranks: who is missing?", look=last_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.wrong.attempt is not None and e.kind in ("value", "early") and e.only_powers_of_two


@mistake(
    "leaves-early", "leaving before everybody has come",
    why="nothing tells this rank that the late one has arrived",
    hint="after how many rounds has word of every rank reached everybody?", look=first_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "early"


@mistake(
    "wrong-value", "another value than the definition gives",
    why="some contributions are missing, or are not where they belong",
    hint="print what rank 0 holds after every step, with p = 3", look=last_phase,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "value"


@mistake(
    "input-changed", "writing into the input",
    why="sendbuf belongs to the caller, who may need it again",
    hint="where could the partial sums stand instead?",
    look=lambda e: e.line_with(r"out=sendbuf|sendbuf\[.*\]\s*[-+*]?=", r"split\(sendbuf|= sendbuf"),
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "input"


@mistake(
    "writes-outside", "writing outside of the result",
    why="a buffer of a rank that gets no result, or memory beyond the end, was written to",
    hint="which ranks have a result?", look=head,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "outside"
