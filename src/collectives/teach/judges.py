"""Judges of functions of numbers: each asks the submission and yields what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from collectives.registry import find
from collectives.teach.grading import Wrong

Ask = Callable[..., Any]

_PIPELINES = [
    (2, 1000, 1e-6, 1e-9),
    (8, 100_000, 5e-6, 1e-9),
    (8, 100, 1e-3, 1e-9),
    (64, 10**6, 1e-6, 1e-8),
]
"""Ranks, elements, alpha, and beta per element."""


def best_segment(ask: Ask) -> Iterator[Wrong]:
    """Hold the segments chosen for a pipeline to within twice the best time of the model."""
    cost = find("bcast", "chain").cost
    assert cost is not None
    for p, n, alpha, beta in _PIPELINES:
        chosen = ask(p, n, alpha, beta)
        call = f"best_segment({p}, {n}, {alpha:g}, {beta:g})"
        if not isinstance(chosen, int) or isinstance(chosen, bool) or not 1 <= chosen <= n:
            yield Wrong("answer", f"{call} is {str(chosen)[:60]}, wants an int from 1 to {n}")
            return
        times = {
            s: cost(p, n, segment=s).time(alpha, beta, 0)
            for s in {chosen, *(min(n, 2**k) for k in range(n.bit_length() + 1))}
        }
        best = min(times.values())
        if times[chosen] > 2 * best:
            text = f"{call} is {chosen}: {times[chosen] / best:.1f} times the shortest time"
            yield Wrong("answer", text, got=times[chosen], wanted=best)
