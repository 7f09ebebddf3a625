"""The summation trees of the registered algorithms, from a simulated run of each.

An algorithm combines with its operation alone. Given one that writes down sums instead of making
them, it shows the tree of every element, with the operands in their order.

Examples
--------
>>> trees = registered("reduce", p=4, n=1)
>>> for name in ("binomial", "chain"):
...     print(name, trees[name][0][0].tree)
binomial ((0+1)+(2+3))
chain (0+(1+(2+3)))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.order_probe import Part
from collectives.oracle.trees import Sums, runs
from collectives.registry import UnsupportedError, algorithms
from collectives.sim import simulate

Parts: TypeAlias = tuple[Part, ...]


@lru_cache(maxsize=64)
def registered(collective: str, p: int, n: int, root: int = 0) -> Mapping[str, tuple[Parts, ...]]:
    """Return the trees of all ranks' results for every algorithm that runs with p ranks.

    They are written down in a simulated run, in the order of the operands. An algorithm's options
    stand after its name, where they are not the defaults.
    """
    known = {}
    for entry in algorithms(collective):
        options = [dict(variant) for variant in entry.variants]
        for chosen in options:  # of any size: it says where a vector is cut, not how it is added
            chosen.pop("segment", None)
        for chosen in ({}, *filter(None, options)):
            name = " ".join([entry.name, *(f"{key}={value}" for key, value in chosen.items())])
            case = Case(collective, p, n, root=root, chosen=tuple(chosen.items()))
            try:
                known[name] = _declared(entry.function, case)
            except UnsupportedError:
                continue
    return known


def _declared(function: Callable[..., None], case: Case) -> tuple[Parts, ...]:
    """Return the trees of a function that combines with its operation alone."""
    sums = Sums(case.p)
    case = replace(case, op=sums.op)

    def program(comm: Any) -> Parts:
        mine = sums.brings(comm.rank, case.input_size(comm.rank))
        numbers = Buffers(case, comm.rank, mine).run(function, comm)
        if numbers is None:
            return ()
        return tuple(Part(*run, sums.tree(numbers[run[0]])) for run in runs(numbers[None]))

    return tuple(simulate(program, case.p).results)
