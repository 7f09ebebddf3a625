"""How long the pipelines of `collectives.algorithms.pipeline` take, segment by segment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from collectives.cost import Cost


def down_cost(p: int, sizes: Sequence[int], children: Callable[[int], Sequence[int]]) -> Cost:
    """Return the cost of sending segments of `sizes` down a tree under rank 0."""
    alphas, betas = (
        max(time_down(weights, lambda rank, _: children(rank)))
        for weights in ([1] * len(sizes), sizes)
    )
    return Cost((p - 1) * len(sizes), (p - 1) * sum(sizes), alphas, betas)


def time_down(weights: Sequence[int], children: Callable[[int, int], Sequence[int]]) -> list[int]:
    """Return when each rank is done with `send_down` from rank 0, where segment s takes weights[s].

    ``children(rank, s)`` are those to which `rank` sends segment s; no rank has two parents.
    """
    done: dict[int, int] = {}
    reached = [(0, [0] * len(weights))]  # ranks, and when their segments are there
    while reached:
        rank, arrivals = reached.pop()
        clock = 0
        later = defaultdict[int, list[int]](lambda: [0] * len(weights))
        for s, (weight, arrival) in enumerate(zip(weights, arrivals, strict=True)):
            clock = max(clock, arrival)
            for child in children(rank, s):
                clock += weight
                later[child][s] = clock
        done[rank] = clock
        reached += later.items()
    return [done[rank] for rank in sorted(done)]


def up_cost(
    p: int, sizes: Sequence[int], root: int, children: Callable[[int], Sequence[int]]
) -> Cost:
    """Return the cost of combining segments of `sizes` up a tree under `root`."""
    ones, zeros = [1] * len(sizes), [0] * len(sizes)
    alphas, betas, gammas = (
        time_up(weights, loads, root, children)
        for weights, loads in ((ones, zeros), (sizes, zeros), (zeros, sizes))
    )
    return Cost((p - 1) * len(sizes), (p - 1) * sum(sizes), alphas, betas, gammas)


def time_up(
    weights: Sequence[int],
    loads: Sequence[int],
    root: int,
    children: Callable[[int], Sequence[int]],
) -> int:
    """Return when `combine_up` to `root` ends, where segment s takes weights[s] on its way.

    Combining it takes loads[s]. A rank is in one tree only, where it has ``children(rank)``.
    """
    ranks = [root]
    for rank in ranks:
        ranks += children(rank)
    clock, posted = dict.fromkeys(ranks, 0), dict.fromkeys(ranks, 0)
    for weight, load in zip(weights, loads, strict=True):
        for rank in reversed(ranks):
            for child in children(rank):
                clock[child] = max(clock[child], posted[rank]) + weight
                posted[rank] = max(clock[rank], clock[child])
                clock[rank] = posted[rank] + load
    return max(clock.values())
