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
