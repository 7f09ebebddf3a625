"""Which ranks: those of the communicator given, whichever processes it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from collectives.comm import Array
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding, first, wrong_values
from collectives.oracle.grids import FEW, one_per_size
from collectives.oracle.payloads import exact
from collectives.oracle.promises import promise
from collectives.oracle.trials import Target, ended
from collectives.oracle.worlds import World


@promise(one_per_size, FEW, needs="communicators")
def any_communicator(world: World, function: Target, case: Case) -> Finding | None:
    """Ranks are those of the communicator given, whichever processes it has."""

    def finding(name: str, groups: int) -> Finding | None:
        if groups * case.p > max(world.sizes):
            return None
        inputs = [exact(case, seed=group) for group in range(groups)]
        program = partial(_in_group, function, case, inputs, name)
        outcome = world.run(program, groups * case.p)
        if outcome.ending:
            return replace(
                ended(case, outcome),  # type: ignore[type-var]
                text=f"{name}: {outcome.ending.text}",
                kind="refused" if outcome.ending.kind == "refused" else "communicator",
            )
        for group in range(groups):
            results: list[Array | None] = [None] * case.p
            for found in outcome.results:
                if found[0] == group:
                    results[found[1]] = found[2]
            wrong = first(wrong_values(case, results, case.expected(inputs[group])))
            if wrong:
                return replace(wrong, text=f"{name}: {wrong}", kind="communicator")
        return None

    return first(finding(*communicator) for communicator in _COMMUNICATORS.items())


_COMMUNICATORS = {"ranks reversed": 1, "odd and even ranks apart": 2, "split twice": 4}
"""Into how many groups the world is split; a rank's group is its number modulo that."""


def _split(name: str, world: Any) -> Any:
    if name == "ranks reversed":
        return world.Split(0, -world.rank)
    halves = world.Split(world.rank % 2, -world.rank if name == "split twice" else 0)
    return halves.Split(world.rank // 2 % 2) if name == "split twice" else halves


def _in_group(
    function: Target, case: Case, inputs: Sequence[Sequence[Array]], name: str, world: Any
) -> tuple[int, int, Array | None]:
    """Make the call of one rank in its group; return the group, the rank there and the result."""
    group = world.rank % _COMMUNICATORS[name]
    comm = _split(name, world)
    result = Buffers(case, comm.rank, inputs[group][comm.rank]).run(function, comm)
    return group, comm.rank, result
