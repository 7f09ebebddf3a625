"""Judges of exercises about time: models, networks and the case study. Nothing is sent in them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import numpy as np

from collectives import case_study as study
from collectives.closed_forms import RING, Setup
from collectives.registry import find
from collectives.sim import Cluster, Hockney, Link, simulate
from collectives.teach.grading import Wrong
from collectives.teach.judging import brief, near
from collectives.teach.scene import Ask
from collectives.training.buckets import cut

# ------------------------------------------------------------------ D5 choose_wisely

CHOICES: Final = ("reduce_bcast", "recursive_doubling", "ring", "rabenseifner")
SLACK: Final = 1.3
"""How many times the shortest time a choice may take."""


def choose(ask: Ask) -> Iterator[Wrong]:
    """Compare choices with the shortest time that the registered costs give."""
    chosen: dict[tuple[int, int], str] = {}
    worst: list[tuple[float, str, int]] = []
    for alpha, rate in ((5e-6, 10e9), (1e-6, 25e9), (50e-6, 1e9)):
        for p in (2, 4, 6, 8, 12, 64):
            for nbytes in (8, 512, 32_768, 1 << 21, 1 << 27):
                said = ask(p, nbytes, alpha, 1 / rate)
                call = f"choose({p}, {nbytes}, {alpha:g}, {1 / rate:g})"
                if said not in CHOICES:
                    text = f"{call} is {brief(said)}, which is none of {', '.join(CHOICES)}"
                    yield Wrong("answer", text, diagnosis="no-such-name")
                    return
                chosen[p, nbytes] = said
                times = {name: _time(name, p, nbytes, alpha, 1 / rate) for name in CHOICES}
                best = min(times, key=times.__getitem__)
                slower = times[said] / times[best]
                if slower > SLACK:
                    text = f"{call} is {said}: {slower:.1f} times as long as {best}"
                    worst.append((slower, text, p))
    if worst:
        slower, text, _ = max(worst)
        if len(set(chosen.values())) == 1:
            yield Wrong("answer", text, diagnosis="one-for-all")
        only_folded = all(p & (p - 1) for _, _, p in worst)
        name = "no-power-of-two" if only_folded else "far-from-the-best"
        yield Wrong("answer", text, diagnosis=name)


def _time(name: str, p: int, nbytes: int, alpha: float, beta: float) -> float:
    cost = find("allreduce", name).cost
    assert cost is not None
    return cost(p, nbytes // 4).times(4).time(alpha, beta, 0)


# ------------------------------------------------------------------ F3 rails_and_nics


def ring_seconds(ask: Ask) -> Iterator[Wrong]:
    """Compare with the simulated time of rings over the cards of two nodes."""
    for channels, nics in ((1, 1), (4, 4), (1, 4), (2, 4), (4, 2), (4, 1)):
        gbits = int(ask.random.integers(1, 9)) * 100
        nbytes = 32_000
        wanted = _rings(channels, nics, gbits, nbytes)
        said = ask(nbytes, 8, channels, nics, gbits)
        if isinstance(said, int | float) and near(said, wanted, 0.01):
            continue
        text = f"{nbytes} B, {channels} channels, {nics} cards of {gbits} Gb/s: {brief(said)} s"
        text += f", simulated {wanted:.3g} s"
        yield Wrong("answer", text, diagnosis=_ring_mistake(said, wanted, channels, nics))


def _ring_mistake(said: Any, wanted: float, channels: int, nics: int) -> str:
    if not isinstance(said, int | float) or said <= 0:
        return "wrong-answer"
    ratio = wanted / said
    if near(ratio, 8, 0.01):
        return "bits-as-bytes"
    if near(ratio, 2, 0.01) and channels == nics:
        return "one-phase-only"
    if near(said / wanted, 8 / 7, 0.01):
        return "limit-for-the-formula"
    if channels < nics and ratio > 1.5:
        return "channels-forgotten"
    return "cards-forgotten" if channels > nics and ratio > 1.5 else "wrong-answer"


@cache
def _rings(channels: int, nics: int, gbits: int, nbytes: int) -> float:
    network = Cluster(2, 4, intra=Link(0, 1e30), inter=Link(0, gbits / 8 * 1e9))
    return Setup(RING, channels, nics).simulate(network, nbytes).time_s


# ------------------------------------------------------------------ F4 case_8x8


@cache
def facts() -> dict[str, float]:
    """Return the numbers of the case study, from its formulas and its search."""
    rate = 25e9
    return {
        "ring_ms": study.at_line_rate(8) * 1e3,
        "rails_ms": 2 * 7 / 8 * study.NBYTES / (8 * rate) * 1e3,
        "two_channels_ms": study.at_line_rate(2) * 1e3,
        "cards_for_18_ms": study.fewest(study.consistent(study.BEFORE)),
        "cards_for_14_2_ms": study.fewest(study.consistent(study.AFTER)),
    }


@cache
def possible() -> str:
    """Return the letters of the explanations that can be true."""
    before = [way.setup for way in study.consistent(study.BEFORE)]
    after = [way.setup for way in study.consistent(study.AFTER)]
    told = {
        "a": any(way.nics <= 2 for way in before),
        "b": any(way.nics == 8 and way.algorithm == RING for way in before),
        "c": any(way.channels <= 4 for way in after),
        "d": any(way.nics == 8 for way in after),
        "e": facts()["rails_ms"] >= 13.3,
    }
    return "".join(letter for letter, holds in told.items() if holds)


def case_8x8(ask: Ask) -> Iterator[Wrong]:
    """Compare a report with the computed case study."""
    said = ask()
    if not isinstance(said, dict):
        yield Wrong("answer", f"{brief(said)}, wants a dict")
        return
    if all(value is None for value in said.values()):
        yield Wrong("missing", "nothing is filled in")
        return
    for name, wanted in facts().items():
        got = said.get(name)
        if not isinstance(got, int | float) or not near(got, wanted, 0.005):
            yield Wrong("answer", f"{name} is {brief(got)}", diagnosis=_case_mistake(name, got))
    letters = said.get("can_be")
    if not isinstance(letters, str) or set(letters) != set(possible()):
        yield Wrong("answer", f"can_be is {brief(letters)}: compare each one's shortest time")


def _case_mistake(name: str, got: Any) -> str:
    if not isinstance(got, int | float):
        return "wrong-answer"
    wanted = facts()[name]
    if name == "two_channels_ms" and near(got, facts()["ring_ms"], 0.02):
        return "channels-forgotten"
    if near(got * 8, wanted, 0.02):
        return "bits-as-bytes"
    if near(got * 2, wanted, 0.02) and name.endswith("_ms"):
        return "one-phase-only"
    line = 2 * study.NBYTES / (8 * 25e9) * 1e3
    if name in ("ring_ms", "rails_ms") and near(got, line, 0.002):
        return "limit-for-the-formula"
    return "wrong-answer"


# ------------------------------------------------------------------ G2 buckets_overlap


def buckets(ask: Ask) -> Iterator[Wrong]:
    """Compare buckets with those of the training package."""
    cases = [([50, 30, 20, 40], 40), ([5, 5, 5], 100), ([7, 1, 1, 1], 1), ([3, 100], 50), ([4], 1)]
    for sizes, at_least in cases:
        wanted = [sorted(bucket.layers) for bucket in cut(sizes, at_least, 0, 1)]
        said = ask(sizes, at_least)
        got = [sorted(b) for b in said] if _lists(said) else None
        if got == wanted:
            continue
        text = f"buckets({sizes}, {at_least}) is {brief(said)}, wants {wanted}"
        named = "wrong-answer"
        if got is not None and got == wanted[: len(got)] and len(got) < len(wanted):
            named = "bucket-lost"
        elif got is not None and got and 0 in got[0] and 0 not in wanted[0]:
            named = "front-to-back"
        yield Wrong("answer", text, diagnosis=named)


def _lists(said: Any) -> bool:
    return isinstance(said, list) and all(
        isinstance(each, list) and all(isinstance(x, int) for x in each) for each in said
    )


def finish(ask: Ask) -> Iterator[Wrong]:
    """Compare the time at which all buckets are reduced with a step-by-step account."""
    parts = [[3], [1, 2], [0]]
    rows = []
    for alpha, beta in ((1.0, 0.1), (0.0, 1.0), (5.0, 0.01)):
        ready = np.cumsum(ask.random.integers(1, 9, 4))[::-1].astype(float).tolist()
        sizes = ask.random.integers(10, 60, 4).tolist()
        costs = [alpha + beta * sum(sizes[i] for i in part) for part in parts]
        there = [max(ready[i] for i in part) for part in parts]
        rows.append({
            "said": ask(ready, sizes, parts, alpha, beta),
            "wanted": _finish(ready, sizes, parts, alpha, beta),
            "no-overlap": max(ready) + sum(costs),
            "two-at-a-time": max(map(sum, zip(there, costs, strict=True))),
        })  # fmt: skip
    for row in rows:
        if not near(row["said"], row["wanted"]):
            text = f"finish(...) is {brief(row['said'])}, wants {row['wanted']:g}"
            fits = (n for n in ("no-overlap", "two-at-a-time")
                    if all(near(each["said"], each[n]) for each in rows))  # fmt: skip
            yield Wrong("answer", text, diagnosis=next(fits, "wrong-answer"))


def _finish(
    ready: list[float], sizes: list[int], parts: list[list[int]], alpha: float, beta: float
) -> float:
    free = 0.0
    for part in parts:
        start = max(free, max(ready[i] for i in part))
        free = start + alpha + beta * sum(sizes[i] for i in part)
    return free


# ------------------------------------------------------------------ H2 straggler


def finish_times(ask: Ask) -> Iterator[Wrong]:
    """Compare with simulated rings whose ranks begin at different times."""
    for p in (2, 3, 5, 8):
        for starts in (
            [0.0] * p,
            [5.0 * (rank == 1) for rank in range(p)],
            [float(x) for x in ask.random.integers(0, 4 * p, p)],
        ):
            for steps in (1, 2, 2 * (p - 1)):
                step = float(ask.random.integers(2, 5))
                wanted = _ring_with_delays(starts, steps, step)
                said = ask(starts, step, steps)
                if near(said, wanted):
                    continue
                name = _misjudged(said, starts, steps, step)
                text = f"{steps} step(s) of {step:g} s, begun at {brief(starts)}: {brief(said)}"
                yield Wrong("answer", f"{text}, simulated {brief(wanted)}", diagnosis=name)


def _misjudged(said: Any, starts: list[float], steps: int, step: float) -> str:
    """Return which mistake gives these times."""
    alone = [start + steps * step for start in starts]
    left, right = list(starts), list(starts)
    for _ in range(steps):
        left = [max(left[r], left[r - 1]) + step for r in range(len(left))]
        right = [max(right[r - 1], right[r]) + step for r in range(len(right))]
        right = right[1:] + right[:1]
    mistakes = {
        "late-rank-alone": alone,
        "all-wait-at-once": [max(alone)] * len(alone),
        "one-neighbour-only": left,
        "one-neighbour-only ": right,
    }
    return next(
        (name.strip() for name, times in mistakes.items() if near(said, times)), "wrong-answer"
    )


def _ring_with_delays(starts: list[float], steps: int, step: float = 1.0) -> list[float]:
    """Return when ranks are done: with a ring all-reduce, or with the first steps of one."""
    ring = find("allreduce", "ring").function

    def program(comm: Any) -> None:
        rank, p = comm.rank, comm.size
        comm.me.clock = starts[rank]
        outgoing, incoming = np.ones(2 * p), np.empty(2 * p)
        if steps == 2 * (p - 1):
            ring(comm, outgoing, incoming)
            return
        for _ in range(steps):
            comm.Sendrecv(outgoing, dest=(rank + 1) % p, recvbuf=incoming, source=(rank - 1) % p)

    return simulate(program, len(starts), network=Hockney(alpha=step)).clocks
