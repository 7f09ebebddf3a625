"""Sizes at the ends: no elements, and one rank."""

from __future__ import annotations

from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding, first, on_rank
from collectives.oracle.grids import alone, without_elements
from collectives.oracle.promises import promise
from collectives.oracle.trials import Target, trial, trials
from collectives.oracle.worlds import World
from collectives.registry import Algorithm


@promise(without_elements)
def zero_length_ok(
    world: World, function: Target, case: Case, entry: Algorithm | None = None
) -> Finding | None:
    """Vectors of no elements are handled; an algorithm of ours sends no bytes for them."""
    for empty in trials(world, function, case):
        if empty.fault:
            return empty.fault
        for rank, seen in enumerate(empty.seen):
            if text := seen.changed or seen.outside:
                return on_rank(case, rank, "outside", text)
        sent = sum(empty.outcome.nbytes)
        if entry is not None and sent:
            return Finding(case, f"{sent} bytes are sent", "cost")
    return None


@promise(alone, [1])
def one_rank_ok(world: World, function: Target, case: Case) -> Finding | None:
    """One rank alone gets what it brings, with every size, operation and type of number."""
    single = trial(world, function, case)
    return single.fault or first(single.wrong_values())
