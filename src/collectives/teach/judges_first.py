"""Judges of the first messages: greetings, letters, parcels and ping-pong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from collectives.oracle.worlds import EAGER, RENDEZVOUS
from collectives.sim import Hockney, simulate
from collectives.teach.grading import Wrong
from collectives.teach.judging import brief, broken_off, differs
from collectives.teach.messages import LATE, late_send
from collectives.teach.scene import Ask

# ------------------------------------------------------------------ A1 hello_ranks


def hello_ranks(ask: Ask) -> Iterator[Wrong]:
    """Gather a line per rank, whoever comes late."""
    for p in (4, 1, 2, 5):
        for late in ([0.0] * p, [0.0, *map(float, range(p - 1, 0, -1))]):
            found = ask.ranks([()] * p, network=RENDEZVOUS, late=late)
            yield from broken_off(found)
            lines = [f"hello from rank {rank} of {p}" for rank in range(p)]
            if any(m.kind == "receive" and m.peer is None for m in found.messages):
                text = "rank 0 receives from any rank: the order is that of arrival"
                yield Wrong("answer", text, found, diagnosis="order-of-arrival")
            if found.values[0] is None:
                text = "rank 0 gives None, wants a list of lines"
                yield Wrong("answer", text, found, diagnosis="printed-not-returned")
            if any(value is not None for value in found.values[1:]):
                text = f"rank 1 gives {brief(found.values[1])}, wants None"
                yield Wrong("answer", text, found, diagnosis="everybody-prints")
            yield from differs(found, [lines, *[None] * (p - 1)])


# ------------------------------------------------------------------ A2 first_letter


def first_letter(ask: Ask) -> Iterator[Wrong]:
    """Send letters of which the receiver does not know how many there are."""
    nothing = np.empty(0, np.uint8)
    for p, length in ((3, 40), (2, 1), (2, 5), (4, 700)):
        letters = ask.random.integers(97, 123, length).astype(np.uint8)
        found = ask.ranks([(letters,), *[(nothing,)] * (p - 1)], network=RENDEZVOUS)
        yield from broken_off(found)
        text, got = letters.tobytes().decode(), found.values[-1]
        if isinstance(got, str) and got.startswith(text) and len(got) > length:
            said = f"{len(got)} characters instead of {length}: {brief(got)}"
            yield Wrong("answer", said, found, diagnosis="longer-than-the-letter")
        if got == repr(text.encode()):
            said = "the last rank gives bytes, wants a str"
            yield Wrong("answer", said, found, diagnosis="bytes-for-text")
        yield from differs(found, [*[None] * (p - 1), text])


# ------------------------------------------------------------------ A3 pass_the_parcel


def in_order(ask: Ask) -> Iterator[Wrong]:
    """Pass a parcel on with Send and Recv alone."""
    yield from _parcel(ask, {"Send", "Ssend", "Recv"}, "Send and Recv")


def in_one_call(ask: Ask) -> Iterator[Wrong]:
    """Pass it on with Sendrecv."""
    yield from _parcel(ask, {"Sendrecv", "Sendrecv_replace"}, "Sendrecv")


def at_once(ask: Ask) -> Iterator[Wrong]:
    """Pass it on with a call that returns at once."""
    yield from _parcel(ask, {"Isend", "Issend", "Irecv", "Send", "Ssend", "Recv"}, "Isend or Irecv")


def _parcel(ask: Ask, allowed: set[str], named: str) -> Iterator[Wrong]:
    for p in (2, 3, 4, 5, 8):
        parcels = [ask.random.integers(1, 10**6, 3) for _ in range(p)]
        for network in (EAGER, RENDEZVOUS):
            found = ask.ranks([(parcel,) for parcel in parcels], network=network)
            yield from broken_off(found)
            if [each == parcels[(rank + 1) % p].tolist() for rank, each in
                    enumerate(found.values)] == [True] * p and p > 2:  # fmt: skip
                text = f"with {p} ranks each has the parcel of its right neighbour"
                yield Wrong("answer", text, found, diagnosis="other-way-round")
            if any(value == parcel.tolist() for value, parcel in zip(found.values, parcels,
                                                                     strict=True)):  # fmt: skip
                text = "a rank still holds its own parcel"
                yield Wrong("answer", text, found, diagnosis="own-parcel-kept")
            yield from differs(found, [parcels[rank - 1].tolist() for rank in range(p)])
            used = {message.call for message in found.messages}
            if not used <= allowed or (named.startswith("I") and not used & {"Isend", "Irecv"}):
                text = f"done with {', '.join(sorted(used))}; this cure is {named}"
                yield Wrong("answer", text, found, diagnosis="another-cure")


# ------------------------------------------------------------------ A4 ping_pong


def fit(ask: Ask) -> Iterator[Wrong]:
    """Let alpha and beta be read from simulated round trips, of which the first is slow."""
    sizes = [8, 64, 512, 4096, 32768, 262144, 1 << 20]
    for _ in range(3):
        alpha, beta = ask.random.uniform(1e-6, 50e-6), 1 / ask.random.uniform(1e9, 20e9)
        trips = [_round_trip(size, Hockney(alpha, beta)) for size in sizes]
        times = [[trip + 100 * alpha, trip, trip * 1.01, trip * 0.99, trip] for trip in trips]
        given = ask(sizes, times)
        if not isinstance(given, list) or len(given) != 2:
            yield Wrong("answer", f"{brief(given)}, wants alpha and beta")
            return
        for name, got, right in zip(("alpha", "beta"), given, (alpha, beta), strict=True):
            if not isinstance(got, int | float) or not 0.95 < got / right < 1.05:
                text = f"{name} is {brief(got)}, wants {right:.3g}, within 5 %"
                yield Wrong("answer", text, diagnosis=_misread(given, alpha, beta))


def _misread(given: Sequence[Any], alpha: float, beta: float) -> str:
    if not all(isinstance(each, int | float) for each in given):
        return "wrong-answer"
    ratios = given[0] / alpha, given[1] / beta
    if all(1.8 < ratio < 2.2 for ratio in ratios):
        return "there-and-back"
    if ratios[0] > 3 and 0.8 < ratios[1] < 2.2:
        return "warm-up-counted"
    return "upside-down" if 0.9 < given[1] * beta < 1.1 else "wrong-answer"


def _round_trip(size: int, network: Hockney) -> float:
    def program(comm: Any) -> float:
        ball = np.zeros(size, np.uint8)
        if comm.rank == 0:
            comm.Send(ball, dest=1)
            comm.Recv(ball, source=1)
        else:
            comm.Recv(ball, source=0)
            comm.Send(ball, dest=0)
        return float(comm.time)

    return float(simulate(program, 2, network=network).results[0])


def eager_limit(ask: Ask) -> Iterator[Wrong]:
    """Let the kink be found in simulated times of Send to a receiver that comes late."""
    for limit in (1000, 70, 30_000):
        sizes = sorted({8, 64, limit - 1, limit, *(2**k for k in range(4, 18))})
        network = Hockney(2e-6, 1e-10, gamma=1e-9, eager_limit=limit)
        waits = [_wait(size, network) for size in sizes]
        wanted = max(s for s, wait in zip(sizes, waits, strict=True) if wait < LATE / 2)
        given = ask(sizes, waits)
        if given != wanted:
            after = sizes[sizes.index(wanted) + 1]
            name = "first-that-waits" if given == after else "wrong-answer"
            yield Wrong("answer", f"{brief(given)} B, wants {wanted} B", diagnosis=name)


def _wait(size: int, network: Hockney) -> float:
    return float(simulate(lambda comm: late_send(comm, size), 2, network=network).results[0])
