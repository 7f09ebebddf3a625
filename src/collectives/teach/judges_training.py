"""Judges of part G: training shared among ranks, held to one process and to counted traffic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from collectives.blocks import even
from collectives.comm import Array
from collectives.oracle.worlds import RENDEZVOUS
from collectives.sim import simulate
from collectives.teach.attempt import Attempt
from collectives.teach.grading import Wrong
from collectives.teach.judging import (
    array,
    brief,
    broken_off,
    differs,
    elements,
    more_than,
    near,
)
from collectives.teach.scene import Ask
from collectives.teach.training_runs import TIMES
from collectives.training import MLP, SCHEMES, batch_of
from collectives.training.counting import counted
from collectives.training.model import forward_backward

MODEL = MLP((64, 3, 10))
ROWS = 30
PART = 1e-9
"""How far numbers may be off, in float64: sums in another order, and nothing else."""


def gradient_of(parameters: Array, x: Array, targets: Array, rows: int) -> Array:
    """Return the gradient of all parameters, on one process."""
    ends = np.cumsum([0, *MODEL.sizes])
    gradient = np.empty_like(parameters)

    def weights(layer: int) -> Array:
        return parameters[ends[layer] : ends[layer + 1]]

    def ready(layer: int, part: Array) -> None:
        gradient[ends[layer] : ends[layer + 1]] = part

    forward_backward(MODEL, x, targets, rows, weights, ready)
    return gradient


@cache
def pictures() -> tuple[Array, Array]:
    """Return random pictures and what they show: who shares them is what matters here."""
    random = np.random.default_rng(1)
    return random.uniform(0, 1, (4 * ROWS, 64)), np.eye(10)[random.integers(0, 10, 4 * ROWS)]


def batch(step: int, rank: int = 0, p: int = 1) -> tuple[Array, Array]:
    """Return this rank's rows of a batch."""
    return batch_of(pictures(), step, ROWS, rank=rank, p=p)[0]


def named(found: Attempt, wrongs: dict[str, Sequence[Array]]) -> str:
    """Return the mistake whose results these are, if any; blanks behind its name do not count."""
    for name, values in wrongs.items():
        if all(near(got, value, PART) for got, value in zip(found.values, values, strict=True)):
            return name.strip()
    return ""


# ------------------------------------------------------------------ G1 ddp_average


def ddp_average(ask: Ask) -> Iterator[Wrong]:
    """Compare averaged gradients with that of one process on the whole batch."""
    for p in (4, 2, 3, 1):  # 30 rows: 8, 8, 7, 7 on four ranks
        seed = int(ask.random.integers(1, 1000))
        parameters = MODEL.initial(np.float64, seed)
        parts = [batch(seed, rank, p) for rank in range(p)]
        rows = [len(x) for x, _ in parts]
        own = [gradient_of(parameters, x, t, len(x)) for x, t in parts]
        wanted = gradient_of(parameters, *batch(seed), ROWS)
        given = [(g, np.array([r])) for g, r in zip(own, rows, strict=True)]
        found = ask.ranks(given, network=RENDEZVOUS)
        yield from broken_off(found)
        for wrong in differs(found, [wanted] * p, PART):
            weighted = np.sum([g * r for g, r in zip(own, rows, strict=True)], axis=0)
            mistakes: dict[str, Sequence[Array]] = {
                "local-gradient": own,
                "never-divided": [np.sum(own, axis=0)] * p,
                "divided-twice": [np.mean(own, axis=0) / p] * p,
                "rows-ignored": [np.mean(own, axis=0)] * p,
            }
            mistakes["never-divided "] = [weighted] * p
            mistakes["divided-twice "] = [wanted / p] * p
            yield Wrong("answer", wrong.text, found, diagnosis=named(found, mistakes))
        yield from more_than(found, 2 * (p - 1) * (wanted.size + 8))


# ------------------------------------------------------------------ G3 zero1


def zero1(ask: Ask) -> Iterator[Wrong]:
    """Compare several steps with momentum with those of one process; look at the state kept."""
    rate, decay, steps = 0.1, 0.9, 3
    for p, n in ((4, 14), (3, 9), (2, 7), (5, 3)):
        parameters = ask.random.normal(0, 1, n)
        gradients = [ask.random.normal(0, 1, (steps, n)) for _ in range(p)]
        given = [(parameters, g) for g in gradients]
        found = ask.ranks(given, rate, decay, network=RENDEZVOUS)
        yield from broken_off(found)
        pairs = [each if isinstance(each, list) and len(each) == 2 else None for each in
                 found.values]  # fmt: skip
        if any(pair is None for pair in pairs):
            text = f"{brief(found.values[0])}, wants [parameters, momentum of the own shard]"
            yield Wrong("answer", text, found)
            return
        found.values = [pair[0] for pair in pairs if pair]
        mean = np.mean(gradients, axis=0)
        wanted, momentum = _steps(parameters, mean, rate, decay)
        for wrong in differs(found, [wanted] * p, PART):
            mistakes = _zero1_mistakes(parameters, gradients, wanted, rate, decay)
            yield Wrong("answer", wrong.text, found, diagnosis=named(found, mistakes))
        states = [array(pair[1]) for pair in pairs if pair]
        sizes = [0 if state is None else state.size for state in states]
        if max(sizes) > -(-n // p):
            text = f"a rank keeps the momentum of {max(sizes)} parameters of {n}, with {p} ranks"
            yield Wrong("answer", text, found, diagnosis="whole-state-kept")
        kept = np.concatenate([np.empty(0) if x is None else x.ravel() for x in states])
        if not near(kept, momentum, PART):
            yield Wrong("answer", f"the momenta of all shards are {brief(kept.tolist())}", found)
        yield from more_than(found, steps * 2 * (p - 1) * n)


def _steps(parameters: Array, gradients: Array, rate: float, decay: float) -> tuple[Array, Array]:
    """Take steps with momentum on one process."""
    x, momentum = parameters.copy(), np.zeros_like(parameters)
    for gradient in gradients:
        momentum = decay * momentum + gradient
        x -= rate * momentum
    return x, momentum


def _zero1_mistakes(
    parameters: Array, gradients: list[Array], wanted: Array, rate: float, decay: float
) -> dict[str, Sequence[Array]]:
    p, n = len(gradients), parameters.size
    shards = [even(n, p).where(rank) for rank in range(p)]
    mean = np.mean(gradients, axis=0)
    before, _ = _steps(parameters, mean[:-1], rate, decay)
    local = np.concatenate([
        _steps(parameters[own], g[:, own], rate, decay)[0]
        for own, g in zip(shards, gradients, strict=True)
    ])  # fmt: skip
    behind = []
    for own in shards:
        mine = before.copy()
        mine[own] = wanted[own]
        behind.append(mine)
    dropped = wanted.copy()
    dropped[n // p * p :] = parameters[n // p * p :]
    return {
        "local-gradient": [local] * p,
        "old-parameters-gathered": behind,
        "old-parameters-gathered ": [before] * p,
        "tail-shard-wrong": [dropped] * p,
        "never-divided": [_steps(parameters, mean * p, rate, decay)[0]] * p,
        "divided-twice": [_steps(parameters, mean / p, rate, decay)[0]] * p,
    }


# ------------------------------------------------------------------ G4 zero2_accum


def zero2_accumulate(ask: Ask) -> Iterator[Wrong]:
    """Compare shards of accumulated gradients, and count a reduce-scatter per micro-batch."""
    for p, k, n in ((4, 3, 14), (2, 2, 6), (3, 4, 3)):
        gradients = [ask.random.normal(0, 1, (k, n)) for _ in range(p)]
        found = ask.ranks([(g,) for g in gradients], network=RENDEZVOUS)
        yield from broken_off(found)
        mean = np.mean(np.sum(gradients, axis=1), axis=0) / k
        wanted = [mean[even(n, p).where(rank)] for rank in range(p)]
        for wrong in differs(found, wanted, PART):
            mistakes: dict[str, Sequence[Array]] = {
                "never-divided": [each * p * k for each in wanted],
                "never-divided ": [each * p for each in wanted],
                "never-divided  ": [each * k for each in wanted],
                "tail-shard-wrong": [mean[r * (n // p) : (r + 1) * (n // p)] for r in range(p)],
            }
            yield Wrong("answer", wrong.text, found, diagnosis=named(found, mistakes))
        needed = k * (p - 1) * n
        if elements(found) < needed:
            text = f"{elements(found)} elements sent: {k} reduce-scatters send {needed}"
            yield Wrong("answer", text, found, diagnosis="whole-gradients-kept")
        yield from more_than(found, needed)


def traffic(ask: Ask) -> Iterator[Wrong]:
    """Compare with what the trainers send, counted on simulated ranks."""
    n = sum(MODEL.sizes)
    for p, k in ((4, 1), (2, 3), (4, 4)):
        wanted = [_counted(name, p, k) for name in TIMES]
        said = ask(n, p, k)
        if near(said, wanted, 1e-6):
            continue
        text = f"traffic({n}, {p}, {k}) is {brief(said)}, counted {brief(wanted)}"
        diagnosis = "scheme-miscounted" if isinstance(said, list) else "wrong-answer"
        yield Wrong("answer", text, diagnosis=diagnosis)


@cache
def _counted(name: str, p: int, k: int) -> float:
    """Return the elements that a rank sends in a step of k micro-batches, the average."""
    [scheme] = [each for each in SCHEMES if each.name == name]

    def program(comm: Any) -> int:
        trainer = scheme(comm, MODEL, MODEL.initial(), bucket_nbytes=0)
        traces = counted(trainer)
        mine = batch_of(pictures(), 0, ROWS, rank=comm.rank, p=comm.size, micro=k)
        trainer.step(mine, ROWS)
        return sum(trace.sent(comm.rank) for trace in traces.values())

    return float(sum(simulate(program, p).results)) / p / MODEL.initial().itemsize


# ------------------------------------------------------------------ G5 zero3


def zero3(ask: Ask) -> Iterator[Wrong]:
    """Compare updated shards with one process; count two allgathers and a reduce-scatter."""
    rate, n = 0.1, sum(MODEL.sizes)
    for p in (4, 2, 3):
        seed = int(ask.random.integers(1, 1000))
        parameters = MODEL.initial(np.float64, seed)
        given = [
            (_sharded(parameters, rank, p), *batch(seed, rank, p)) for rank in range(p)
        ]  # fmt: skip
        found = ask.ranks(given, list(MODEL.widths), ROWS, rate, network=RENDEZVOUS)
        yield from broken_off(found)
        whole = gradient_of(parameters, *batch(seed), ROWS)
        wanted = [_sharded(parameters - rate * whole, rank, p) for rank in range(p)]
        for wrong in differs(found, wanted, PART):
            local = [
                _sharded(parameters - rate * gradient_of(parameters, *batch(seed, rank, p), ROWS),
                         rank, p)
                for rank in range(p)
            ]  # fmt: skip
            mistakes: dict[str, Sequence[Array]] = {
                "local-gradient": local,
                "divided-twice": [
                    _sharded(parameters - rate / p * whole, rank, p) for rank in range(p)
                ],
            }
            yield Wrong("answer", wrong.text, found, diagnosis=named(found, mistakes))
        needed = 3 * (p - 1) * n
        if elements(found) < needed:
            text = f"{elements(found)} elements sent; with layers dropped after use, {needed} are"
            yield Wrong("answer", text, found, diagnosis="whole-parameters-kept")
        by_line = Counter[int]()
        for m in found.sent():
            by_line[m.line] += m.size
        once_more = len(by_line) > 2 and elements(found) == 4 * (p - 1) * n
        yield from more_than(found, needed, "gathered-again" if once_more else "")


def _sharded(parameters: Array, rank: int, p: int) -> Array:
    """Return a rank's shard: its own part of every layer."""
    ends = np.cumsum([0, *MODEL.sizes])
    return np.concatenate([
        parameters[a:b][even(b - a, p).where(rank)]
        for a, b in pairwise(ends.tolist())
    ])  # fmt: skip


# ------------------------------------------------------------------ G6 tensor_parallel_pair


def tensor_parallel(ask: Ask) -> Iterator[Wrong]:
    """Compare the output on all ranks with the whole product."""
    for p in (4, 2, 3):
        x, columns, rows, wanted = _layers(ask, p)
        given = [(x, a, b) for a, b in zip(columns, rows, strict=True)]
        found = ask.ranks(given, network=RENDEZVOUS)
        yield from broken_off(found)
        left = [np.maximum(x @ a, 0) @ b for a, b in zip(columns, rows, strict=True)]
        for wrong in differs(found, [wanted] * p, PART):
            diagnosis = named(found, {"partial-sums-left": left})
            yield Wrong("answer", wrong.text, found, diagnosis=diagnosis)
        yield from more_than(found, 2 * (p - 1) * wanted.size)


def sequence_parallel(ask: Ask) -> Iterator[Wrong]:
    """Compare each rank's rows of the output with the whole product."""
    for p in (4, 2, 3):
        x, columns, rows, wanted = _layers(ask, p)
        mine = np.split(x, p)
        given = [(part, a, b) for part, a, b in zip(mine, columns, rows, strict=True)]
        found = ask.ranks(given, network=RENDEZVOUS)
        yield from broken_off(found)
        left = [
            np.split(np.maximum(x @ a, 0) @ b, p)[rank]
            for rank, (a, b) in enumerate(zip(columns, rows, strict=True))
        ]
        for wrong in differs(found, np.split(wanted, p), PART):
            diagnosis = named(found, {"partial-sums-left": left})
            yield Wrong("answer", wrong.text, found, diagnosis=diagnosis)
        yield from more_than(found, (p - 1) * (x.size + wanted.size))


def _layers(ask: Ask, p: int) -> tuple[Array, list[Array], list[Array], Array]:
    """Return the input, the columns of A and the rows of B of every rank, and the output."""
    x, a, b = (ask.random.normal(0, 1, shape) for shape in ((2 * p, 5), (5, 3 * p), (3 * p, 4)))
    return x, np.split(a, p, axis=1), np.split(b, p), np.maximum(x @ a, 0) @ b
