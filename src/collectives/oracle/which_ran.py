"""Whether a library ran the algorithm that was asked of it, seen by the order in which it adds.

A library may use another one without a word. The order probe shows the summation tree of a
reduction, and the tree that an algorithm builds is known from registered ones: another tree is
proof that another algorithm ran. The same tree is none where several algorithms build it; what
only moves data shows no tree at all.
"""

from __future__ import annotations

from typing import Final

from collectives.oracle.cases import Case
from collectives.oracle.declared import registered
from collectives.oracle.findings import Finding, Note
from collectives.oracle.fingerprint import REDUCING, fingerprint
from collectives.oracle.promises import NotObservable
from collectives.oracle.trees import Tree
from collectives.oracle.trials import Target
from collectives.oracle.worlds import World
from collectives.registry import UnsupportedError

PER_RANK: Final = 16
"""Elements of a block: enough for what needs an element for every rank."""

TELLING: Final = 4
"""Ranks from which on algorithms build different trees."""

_DOUBLING, _RING = ("allreduce/recursive_doubling",), ("allreduce/ring",)
_ANY_REDUCE: Final = ("reduce/chain", "reduce/binary_tree", "reduce/binomial")

TREES: Final[dict[tuple[str, str], dict[str, tuple[str, ...]]]] = {
    ("Open MPI", "allreduce"): {
        "basic_linear": ("reduce/chain",), "nonoverlapping": _ANY_REDUCE,
        "recursive_doubling": _DOUBLING, "ring": _RING, "segmented_ring": _RING,
        "rabenseifner": _DOUBLING,
    },
    ("Open MPI", "reduce"): {
        "linear": ("reduce/chain",), "pipeline": ("reduce/chain",),
        "binary": ("reduce/binary_tree",), "binomial": ("reduce/binomial",),
        "in_order_binary": ("reduce/in_order_binary",), "rabenseifner": _DOUBLING,
    },
    ("Open MPI", "reduce_scatter_block"): {
        "basic_linear": _ANY_REDUCE, "recursive_doubling": ("reduce/binomial",),
        "recursive_halving": ("reduce_scatter/recursive_halving",),
        "butterfly": ("reduce_scatter/butterfly",),
    },
    ("Open MPI", "reduce_scatter"): {
        "non_overlapping": _ANY_REDUCE,
        "recursive_halving": ("reduce_scatter/recursive_halving",),
        "ring": ("reduce_scatter/ring",), "butterfly": ("reduce_scatter/butterfly",),
    },
    ("Open MPI", "scan"): {x: (f"scan/{x}",) for x in ("linear", "recursive_doubling")},
    ("Open MPI", "exscan"): {x: (f"exscan/{x}",) for x in ("linear", "recursive_doubling")},
    ("MPICH", "allreduce"): {
        "recursive_doubling": _DOUBLING, "recexch": _DOUBLING,
        "recursive_multiplying": ("allreduce/recursive_multiplying radix=2",),
        "reduce_scatter_allgather": _DOUBLING, "k_reduce_scatter_allgather": _DOUBLING,
        "ring": _RING,
    },
    ("MPICH", "reduce"): {"binomial": ("reduce/binomial",), "reduce_scatter_gather": _DOUBLING},
    ("MPICH", "scan"): {"recursive_doubling": ("scan/recursive_doubling",)},
    ("MPICH", "exscan"): {"recursive_doubling": ("exscan/recursive_doubling",)},
}  # fmt: skip
"""Which registered algorithms build the trees of a library's, by library and call. An all-reduce
may build that of a reduce whose result it sends to all. Left out are those that call what the
library chooses, and those whose trees no registered algorithm has."""

for _call in ("reduce_scatter", "reduce_scatter_block"):
    TREES["MPICH", _call] = {
        "noncommutative": ("reduce_scatter/butterfly",), "pairwise": ("reduce_scatter/pairwise",),
        "recursive_doubling": ("reduce/binomial",),
        "recursive_halving": ("reduce_scatter/recursive_halving",),
    }  # fmt: skip


def ran(
    library: str, call: str, algorithm: str, world: World, function: Target, case: Case
) -> Finding | Note | None:
    """Return which other algorithm must have run than the one of ``MPI_<call>`` asked for.

    Parameters
    ----------
    library, call, algorithm : str
        Such as ``MPICH``, ``reduce_scatter_block`` and ``pairwise``.
    world : World
        Where it runs.
    function : callable
        The collective's function, which makes this call.
    case : Case
        Its collective and number of ranks.
    """
    known = TREES.get((library, call), {})
    models = known.get(algorithm, ())
    if not models:
        if case.collective not in REDUCING:
            return NotObservable("results that are not added up do not show which algorithm ran")
        return NotObservable("no registered algorithm adds in its order")
    if case.p < TELLING:
        if case.p < max(world.sizes):
            return None
        return NotObservable(f"{case.p} ranks do not tell algorithms apart; {TELLING} do")
    n = PER_RANK * (1 if case.by_blocks else case.p)
    counts = (n,) * case.p if call == "reduce_scatter" else None
    try:
        found = fingerprint(function, world, case.collective, case.p, n, counts=counts)
    except UnsupportedError as error:
        return Finding(case, str(error), "refused")
    seen = set(found.trees)
    if not any(seen == _trees(model, found.case) for model in models):
        others = ", ".join(found.matches + found.elsewhere) or "no registered algorithm does"
        text = (
            f"adds {found.vector[0].tree}, as {others}; {algorithm} adds as {' or '.join(models)}"
        )
        return Finding(found.case, text, "another")
    like = [name for name in known if name != algorithm and known[name] == models]
    return Note(f"it adds as {algorithm} does" + (f", and {', '.join(like)}" if like else ""))


def _trees(model: str, case: Case) -> set[Tree]:
    """Return the trees of a registered algorithm for so many ranks and elements."""
    collective, _, name = model.partition("/")
    n = case.n * case.p if case.by_blocks and collective in ("reduce", "allreduce") else case.n
    ranks = registered(collective, case.p, n)[name]
    return {part.tree.canonical for parts in ranks for part in parts}
