"""What several rules ask of the evidence."""

from __future__ import annotations

from collectives.teach.evidence import Evidence


def wrong_peer(e: Evidence) -> bool:
    """Tell whether ranks wait for one peer while another one's message is there for them."""
    return e.waits and any(
        sent.peer == want.rank and sent.rank != want.peer
        for want in e.awaited if want.kind == "receive" and want.peer is not None
        for sent in e.attempt.unmatched
    )  # fmt: skip


def multiple(e: Evidence) -> bool:
    return any(counts is not None and counts.max(initial=0) > 1 for counts in e.counted)


def never_more_than_one(e: Evidence) -> bool:
    """Tell whether no sum is ever made: all messages and all results hold one operand."""
    if e.kind != "value" or not e.case.reduces or e.p < 3 or e.case.op.name != "SUM":
        return False
    known = [counts for counts in e.counted if counts is not None]
    sums = all((counts.sum(axis=1) == 1).all() for counts in known)
    return bool(known) and sums and all(set(e.contributors(r)) <= {1} for r in range(e.p))


def straight_in(e: Evidence) -> bool:
    received = e.attempt.of(0, "receive")
    return bool(received) and received[0].place == "recvbuf"


def all_alike(e: Evidence) -> bool:
    first = e.results[0]
    return all(got is not None and first is not None and (got == first).all() for got in e.results)


def one_does_all(e: Evidence) -> bool:
    others = e.p - 1
    if e.p < 4:
        return False
    peers = [{m.peer for m in e.attempt.sent(rank)} for rank in range(e.p)]
    into = [{m.rank for m in e.attempt.sent() if m.peer == rank} for rank in range(e.p)]
    return sum(len(x) == others for x in peers) == 1 or sum(len(x) == others for x in into) == 1


def crossed(e: Evidence) -> int:
    """Return the line of a receive that got another function's message; 0 if there is none.

    Both functions send and receive: each keeps to itself, or should.
    """
    if e.wrong.attempt is None:
        return 0
    messages = e.attempt.messages
    sends = {id(m.operation): m for m in messages if m.kind == "send"}
    for m in messages:
        send = sends.get(id(getattr(m.operation, "send", None)))
        if m.kind == "receive" and send is not None:
            ends = e.function_at(m.line), e.function_at(send.line)
            if ends[0] is not ends[1] and all(map(e.exchanges, ends)):
                return m.line
    return 0


def own_message(e: Evidence) -> int:
    """Return the line on which a rank sends to itself a message that it does not receive."""
    left = [m for m in (*e.awaited, *e.attempt.unmatched) if m.kind == "send"]
    return next((m.line for m in left if m.rank == m.peer), 0)


def own_send(e: Evidence) -> int:
    """Return the line on which a rank sends to itself; 0 if none does."""
    return next((m.line for m in e.attempt.sent() if m.rank == m.peer), 0)


def any_source(e: Evidence) -> int:
    """Return the first line that receives from any rank; 0 if none does."""
    if e.wrong.attempt is None:
        return 0
    lines = (m.line for m in e.attempt.messages if m.kind == "receive" and m.peer is None)
    return next(lines, 0)
