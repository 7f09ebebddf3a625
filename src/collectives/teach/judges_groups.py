"""Judges of exercises on groups of ranks, on narrower messages, and on devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from collectives.comm import Array
from collectives.oracle.worlds import EAGER, RENDEZVOUS
from collectives.registry import find
from collectives.sim import simulate
from collectives.teach.attempt import Attempt, SubmissionError
from collectives.teach.grading import Wrong
from collectives.teach.judging import array, brief, broken_off, differs, more_than, near
from collectives.teach.scene import Ask

SHAPES = ((4, 2), (6, 3), (8, 4), (6, 2), (3, 4))
"""Ranks, and ranks per node."""

SIX = (
    "the rank in the node", "the size of the node", "the rank in the rail", "the size of the rail",
    "the sum over the node", "the sum over the rail",
)  # fmt: skip
"""What a rank gives in F1."""

# ------------------------------------------------------------------ F1 split_world


def split_world(ask: Ask) -> Iterator[Wrong]:
    """Compare places in nodes and rails, and the sums over both."""
    for p, per_node in (*SHAPES, (7, 3), (1, 1)):
        numbers = [ask.random.integers(1, 10**6, 1) for _ in range(p)]
        found = ask.ranks([(x,) for x in numbers], per_node, network=RENDEZVOUS)
        yield from broken_off(found)
        wanted = [_place(rank, numbers, per_node) for rank in range(p)]
        for rank, (got, right) in enumerate(zip(found.values, wanted, strict=True)):
            if got != right:
                text = f"rank {rank} of {p}, {per_node} per node: {_item(got, right)}"
                yield Wrong("answer", text, found, diagnosis=_misplaced(found, wanted))


def _item(got: Any, right: list[int]) -> str:
    """Say which of the six numbers is wrong."""
    if not isinstance(got, list) or len(got) != len(right):
        return f"{brief(got)}, wants six ints"
    first = [x == y for x, y in zip(got, right, strict=True)].index(False)
    return f"{SIX[first]} is {brief(got[first])}, wants {right[first]}"


def _place(rank: int, numbers: list[Array], per_node: int) -> list[int]:
    node = [r for r in range(len(numbers)) if r // per_node == rank // per_node]
    rail = [r for r in range(len(numbers)) if r % per_node == rank % per_node]
    sums = [int(sum(numbers[r][0] for r in group)) for group in (node, rail)]
    return [node.index(rank), len(node), rail.index(rank), len(rail), *sums]


def _misplaced(found: Attempt, wanted: list[list[int]]) -> str:
    total = sum(w[4] for w in wanted if w[0] == 0)
    values = [each if isinstance(each, list) and len(each) == 6 else [0] * 6 for each in
              found.values]  # fmt: skip
    if all(v[1] == w[1] and v[3] == w[3] and v[4:] == w[4:] for v, w in
           zip(values, wanted, strict=True)):  # fmt: skip
        return "order-in-group"
    swapped = [[w[2], w[3], w[0], w[1], w[5], w[4]] for w in wanted]
    both = all(v[4] == v[5] for v in values)
    is_whole = [all(v[4] == total for v in values), all(v[5] == total for v in values)]
    is_part = [len(wanted) > wanted[0][1], len(wanted) > wanted[0][3]]
    if any(whole and part for whole, part in zip(is_whole, is_part, strict=True)):
        return "whole-world"
    return "groups-swapped" if values == swapped or both else ""


# ------------------------------------------------------------------ F2 hierarchical_allreduce


def hierarchical(ask: Ask) -> Iterator[Wrong]:
    """Compare sums, and what crosses between nodes and inside them."""
    for p, per_node in SHAPES:
        if p % per_node:
            continue
        n = 6 * per_node
        vectors = [ask.random.integers(1, 10**6, n) for _ in range(p)]
        total = np.sum(vectors, axis=0)
        for network in (EAGER, RENDEZVOUS):
            found = ask.ranks([(v,) for v in vectors], per_node, network=network)
            yield from broken_off(found)
            factors = {float(f) for v in found.values if (f := _factor(v, total))}
            if len(factors) == 1 and factors != {1.0}:
                text = f"all sums are {factors.pop():g} times too large"
                yield Wrong("answer", text, found, diagnosis="factor-of-the-node")
            blended = np.tile(total.reshape(per_node, -1).sum(axis=0), per_node)
            if p > per_node and all(near(value, blended) for value in found.values):
                text = "each part is the sum of all parts of the vector"
                yield Wrong("answer", text, found, diagnosis="whole-world")
            yield from differs(found, [total] * p)
        yield from _crossing(found, p, per_node, n)


def _factor(value: object, total: Array) -> float | None:
    got = array(value)
    if got is None or got.shape != total.shape:
        return None
    ratios = got / total
    return float(ratios[0]) if near(ratios, np.full(ratios.shape, ratios[0])) else None


def _crossing(found: Attempt, p: int, per_node: int, n: int) -> Iterator[Wrong]:
    nodes = p // per_node
    loads = [0] * p
    inside = 0
    for m in found.sent():
        assert m.peer is not None
        if m.rank // per_node != m.peer // per_node:
            loads[m.rank] += m.size
        else:
            inside += m.size
    allowed = 2 * (nodes - 1) * n
    if sum(loads) > allowed:
        text = f"{sum(loads)} elements cross between nodes, {allowed} are enough"
        yield Wrong("bytes", text, found, sum(loads), allowed, "flat-between-nodes")
    share = 2 * (nodes - 1) * -(-n // p)
    if max(loads) > share:
        text = f"rank {loads.index(max(loads))} sends {max(loads)} elements between nodes, "
        text += f"{share} are its share"
        yield Wrong("bytes", text, found, max(loads), share, "one-card-per-node")
    allowed = 2 * (per_node - 1) * n * nodes
    if inside > allowed:
        text = f"{inside} elements inside the nodes, {allowed} are enough"
        yield Wrong("bytes", text, found, inside, allowed)


# ------------------------------------------------------------------ H1 compress_or_not


def compressed(ask: Ask) -> Iterator[Wrong]:
    """Hold a sum of half-precision messages to two roundings, and to half of the bytes."""
    for p in (2, 4, 8, 3):
        n = 16 * p
        vectors = [ask.random.uniform(0.25, 0.49, n).astype(np.float32) for _ in range(p)]
        for element in range(n):  # one large operand, beside which small ones vanish
            vectors[element % p][element] = np.float32(ask.random.uniform(1100, 2000))
        found = ask.ranks([(v,) for v in vectors], network=RENDEZVOUS)
        yield from broken_off(found)
        exact = np.sum([v.astype(np.float64) for v in vectors], axis=0)
        # Each operand is rounded once, and the sum once, by at most 2**-11 of its size.
        bound = 1.01 * 2.0**-11 * 2.01 * exact
        for rank, value in enumerate(found.values):
            got = array(value)
            if got is None or got.shape != exact.shape:
                yield Wrong("answer", f"rank {rank} gives {brief(value)}", found)
                return
            off = np.abs(got - exact) / bound
            if not off.max() <= 1:
                text = f"rank {rank}: an error of {off.max():.1f} times that of two roundings"
                named = "rounded-at-every-hop" if off.max() < 50 else ""
                yield Wrong("answer", text, found, diagnosis=named)
        if any(value != found.values[0] for value in found.values):
            yield Wrong(
                "answer", "ranks end with different bits", found, diagnosis="different-bits"
            )
        allowed = 2 * (p - 1) * n * 2
        sent = sum(m.nbytes for m in found.sent())
        if sent > allowed:
            wide = any(m.dtype.itemsize > 2 for m in found.sent())
            text = f"{sent} bytes sent, {allowed} are enough"
            yield Wrong("bytes", text, found, sent, allowed, "wide-messages" if wide else "")


def same_sum(ask: Ask) -> Iterator[Wrong]:
    """Have sums of two algorithms compared: of one sign, of terms that cancel, and a wrong one."""
    for p in (4, 8, 5):
        positive = ask.random.uniform(1, 1000, (p, 40)).astype(np.float32)
        cancelling = positive.copy()
        cancelling[-1] = 0.01 - cancelling[:-1].sum(axis=0)
        for terms, named in ((positive, "bits-compared"), (cancelling, "error-of-the-terms")):
            sums = [_total(name, terms).tolist() for name in ("ring", "recursive_doubling")]
            if ask(*sums, terms.tolist()) is not True:
                text = f"two right sums of {p} vectors, in another order, are told to differ"
                yield Wrong("answer", text, diagnosis=named)
        sums[1][7] += 1e-3 * float(np.abs(cancelling[:, 7]).sum())
        if ask(*sums, cancelling.tolist()) is not False:
            text = f"a sum of {p} vectors that is off by 1e-3 of its terms is told to be right"
            yield Wrong("answer", text, diagnosis="wrong-sum-passed")


def _total(name: str, terms: Array) -> Array:
    """Return the sum of vectors as an algorithm makes it, on simulated ranks."""
    algorithm, total = find("allreduce", name).function, np.empty_like(terms)
    simulate(lambda comm: algorithm(comm, terms[comm.rank], total[comm.rank]), len(terms))
    first: Array = total[0]
    return first


# ------------------------------------------------------------------ H3 cupy_ring


def device_ring(ask: Ask) -> Iterator[Wrong]:
    """Compare what a ring leaves on a device on which kernels run late."""
    for p in (4, 2, 3):
        vectors = [ask.random.integers(1, 1000, 6 * p).astype(np.float64) for _ in range(p)]
        found = ask.ranks([(v,) for v in vectors], "stand-in", network=RENDEZVOUS)
        error = found.error
        refused = isinstance(error, SubmissionError) and error.name == "TypeError"
        if refused and ("DeviceArray" in str(error) or "conversion" in str(error)):
            yield Wrong("ended", str(error), found, diagnosis="device-buffer")
        yield from broken_off(found)
        total = np.sum([v * v for v in vectors], axis=0)
        wrong = next(differs(found, [total] * p), None)
        if wrong is not None:
            prompt = ask.ranks([(v,) for v in vectors], "stand-in at once", network=RENDEZVOUS)
            if prompt.finished and not any(differs(prompt, [total] * p)):
                wrong = replace(wrong, diagnosis="no-synchronize")
            yield wrong
        yield from more_than(found, 2 * (p - 1) * 6 * p)
