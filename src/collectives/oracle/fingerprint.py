"""Fingerprints: in which order a function adds up floating-point numbers, and who else does so.

`fingerprint` looks at a black box with the order probe; `declared.registered` knows the
trees of every registered algorithm; `broken_prediction` demands, of a known tree, the bits that it
predicts.

Examples
--------
>>> from collectives import allreduce_ring
>>> found = fingerprint(allreduce_ring, None, "allreduce", p=3, n=6)
>>> for part in found.vector:
...     print(part.start, part.stop, part.tree)
0 2 ((1+2)+0)
2 4 ((2+0)+1)
4 6 ((0+1)+2)
>>> found.rotates, found.agree, "ring" in found.matches
(True, True, True)
>>> broken_prediction(allreduce_ring, None, found)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, TypeAlias

import numpy as np

from collectives.comm import Array
from collectives.dtypes import number_type
from collectives.oracle.cases import Case
from collectives.oracle.declared import registered
from collectives.oracle.differences import difference
from collectives.oracle.order_probe import LEFT, Part, Probe
from collectives.oracle.trees import Tree
from collectives.registry import UnsupportedError
from collectives.sim import simulate

REDUCING = ("reduce", "reduce_scatter", "allreduce", "scan", "exscan")
"""The collectives that add."""

ENOUGH = 64
"""Random sums, so many that no wrong tree predicts all of their bits."""

Parts: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True)
class Fingerprint:
    """How one call adds, element by element.

    Attributes
    ----------
    case : Case
        What was called.
    dtype : str
        The type of the elements.
    parts : tuple of tuple of Part
        For each rank, the trees of its result; empty where it has none.
    varies : bool
        Whether trees differ from call to call.
    """

    case: Case
    dtype: str
    parts: tuple[Parts, ...]
    varies: bool = False

    @property
    def agree(self) -> bool:
        """Whether all ranks that must have the same bits added in the same order."""
        return not self.case.same_everywhere or len({_key(parts) for parts in self.parts}) == 1

    @cached_property
    def trees(self) -> list[Tree]:
        """Every tree that some element has, up to the order of operands."""
        return list(dict.fromkeys(p.tree.canonical for parts in self.parts for p in parts))

    @property
    def fits(self) -> bool:
        """Whether there is a tree for every element that explains what was seen."""
        return all(tree.fits for tree in self.trees)

    @property
    def is_wide(self) -> bool:
        """Whether numbers were added in a wider accumulator."""
        return any(tree.is_wide for tree in self.trees)

    @property
    def is_predictable(self) -> bool:
        """Whether the bits of every sum follow from its tree, and ranks agree where they must."""
        return self.agree and all(tree.is_predictable for tree in self.trees)

    @property
    def order_seen(self) -> bool:
        """Whether the trees say, too, which operand was on the left."""
        return all(part.ordered for parts in self.parts for part in parts)

    @property
    def depth(self) -> int:
        """The most additions in a row."""
        return max((tree.depth for tree in self.trees), default=0)

    @cached_property
    def vector(self) -> Parts:
        """The trees along the whole vector, as the first rank that has a result says."""
        if self.case.collective == "reduce_scatter":
            starts = map(self.case.blocks.start, range(self.case.p))
            return _merged(
                replace(part, start=start + part.start, stop=start + part.stop)
                for start, parts in zip(starts, self.parts, strict=True)
                for part in parts
            )
        return next((_merged(parts) for parts in self.parts if parts), ())

    @property
    def rotates(self) -> bool:
        """Whether each block of the vector has the tree of the one before, of ranks one higher."""
        p, trees = self.case.p, [part.tree.canonical for part in self.vector]
        next_ones = [tree.renumbered(lambda rank: (rank + 1) % p).canonical for tree in trees]
        blocks = min(p, self.vector[-1].stop) if trees else 0
        return len(trees) == blocks > 1 and next_ones[:-1] == trees[1:]

    @cached_property
    def matches(self) -> list[str]:
        """The registered algorithms that add every element of every rank in this grouping.

        One stands for its variants: ``ring`` for ``ring segment=1``.
        """
        return self._like(_key)

    @cached_property
    def elsewhere(self) -> list[str]:
        """Those with the same trees at other elements: cut elsewhere, or blocks swapped."""
        found = self._like(lambda parts: {tree for *_, tree in _key(parts)})
        return [name for name in found if name not in self.matches]

    @cached_property
    def same_order(self) -> list[str]:
        """Those of `matches` that have the same operands on the left, too."""
        if not self.order_seen:
            return []
        return [name for name in self._like(lambda parts: parts) if name in self.matches]

    def _like(self, look: Callable[[Parts], Any]) -> list[str]:
        mine = [look(parts) for parts in self.parts]
        known = registered(self.case.collective, self.case.p, self.case.n, self.case.root)
        names = [name for name, all_parts in known.items() if mine == [*map(look, all_parts)]]
        return [name for name in names if " " not in name or name.split()[0] not in names]


def _merged(parts: Iterator[Part] | Parts) -> Parts:
    """Return parts of which no two neighbours have trees that differ in operand order only."""
    found: list[Part] = []
    for part in parts:
        if found and found[-1].tree.canonical == part.tree.canonical:
            found[-1] = replace(found[-1], stop=part.stop)
        else:
            found.append(part)
    return tuple(found)


def _key(parts: Parts) -> tuple[tuple[int, int, str], ...]:
    """Return what two results that were added in the same grouping have in common."""
    return tuple((p.start, p.stop, str(p.tree.canonical)) for p in _merged(parts))


# ------------------------------------------------------------------ of a black box


def fingerprint(
    function: Callable[..., None],
    world: Any,
    collective: str,
    p: int,
    n: int,
    dtype: str = "float64",
    *,
    root: int = 0,
    counts: tuple[int, ...] | None = None,
) -> Fingerprint:
    """Find out how `function` adds.

    Parameters
    ----------
    function : callable
        With the signature of the collective, such as a registered algorithm.
    world : object or None
        Where ranks run: a `World`; or an mpi4py communicator of p ranks, which all call this; or
        None for simulation.
    collective : str
        One of `REDUCING`.
    p, n : int
        Ranks, and elements as in the signature.
    dtype : str
        One of `order_probe.DTYPES`.
    root : int
        Of a reduce.
    counts : tuple of int, optional
        The sizes of the blocks of a reduce-scatter, all n, for MPI's call that takes them.

    Returns
    -------
    Fingerprint
        The same on all ranks.
    """
    if collective not in REDUCING:
        raise ValueError(f"{collective} adds nothing up; {', '.join(REDUCING)} do")
    case, probe = Case(collective, p, n, root=root, counts=counts), Probe(p, number_type(dtype))
    makes_ops = "user_ops" in getattr(world, "shows", ("user_ops",))
    seen = _on_all(world, partial(_look, function, case, probe, makes_ops), p)
    return Fingerprint(case, dtype, tuple(parts for parts, _ in seen), any(v for _, v in seen))


def _look(
    function: Callable[..., None], case: Case, probe: Probe, makes_ops: bool, comm: Any
) -> tuple[Parts, bool]:
    """Return the parts of this rank's result, and whether its trees vary."""
    rank, calls = comm.rank, range(len(probe.pairs))
    ranks = {"scan": range(rank + 1), "exscan": range(rank)}.get(case.collective, range(case.p))
    start = case.blocks.start(rank) if case.form.gets == "block" else 0

    def call(case: Case, values: Array) -> Array | None:
        return _result(function, comm, case, values)

    size = case.input_size(rank)
    totals = (call(case, probe.summands(rank, size, i)) for i in calls)
    counts = [probe.together(total, ranks) for total in totals if total is not None]
    keeping = replace(case, op=LEFT)
    try:
        kept = [call(keeping, probe.sides(rank, size, i)) for i in calls if makes_ops]
    except (TypeError, ValueError):  # on all ranks alike: it takes sums only
        kept = []
    if not counts:
        return (), False
    sides = [side for side in kept if side is not None]
    parts = probe.parts(counts, sides, start, ranks)
    explained = all(part.tree.fits for part in parts)
    return tuple(parts), not explained and probe.varies(counts, start, ranks)


def _result(function: Callable[..., None], comm: Any, case: Case, values: Array) -> Array | None:
    """Return what this rank is left with, if it has a result."""
    size = case.result_size(comm.rank)
    recvbuf = np.full(case.room(comm.rank), np.nan, values.dtype)
    case.call(function, comm, values, recvbuf)
    return None if size is None else recvbuf[:size]


def _on_all(world: Any, program: Callable[[Any], Any], p: int) -> list[Any]:
    """Run ``program(comm)`` on p ranks and return all their results, on every rank."""
    if world is None:
        return simulate(program, p).results
    if not hasattr(world, "run"):
        return list(world.allgather(program(world)))
    outcome = world.run(program, p)
    if outcome.ending is not None:
        refused = outcome.ending.kind == "refused"
        raise (UnsupportedError if refused else RuntimeError)(outcome.ending.text)
    return list(outcome.results)


# ------------------------------------------------------------------ what follows from a tree


def broken_prediction(function: Callable[..., None], world: Any, found: Fingerprint) -> str | None:
    """Return where sums of random numbers are not, bit by bit, what their trees predict.

    None where all are. Ranks and world are those of the fingerprint, whose trees must all be
    predictable; all ranks return the same.
    """
    judged = _on_all(world, partial(_judge, function, found), found.case.p)
    return next((wrong for wrong in judged if wrong), None)


def _judge(function: Callable[..., None], found: Fingerprint, comm: Any) -> str | None:
    """Return where this rank's sums are not what their trees predict."""
    case, rank, dtype = found.case, comm.rank, number_type(found.dtype)
    first = case.blocks.start(rank) if case.form.gets == "block" else 0
    wrong = None
    for seed in range(max(2, ENOUGH // max(case.n, 1))):
        inputs = _random(case, dtype, seed)
        got = _result(function, comm, case, inputs[rank])
        if got is None or wrong:
            continue
        wanted = np.empty_like(got)
        for part in found.parts[rank]:
            where = slice(first + part.start, first + part.stop)
            wanted[part.start : part.stop] = part.tree.evaluate([x[where] for x in inputs])
        wrong = difference(case, rank, got, wanted, "its tree predicts")
    return wrong


@lru_cache(maxsize=1)
def _random(case: Case, dtype: np.dtype[Any], seed: int) -> list[Array]:
    """Return random inputs of all ranks, of sizes so different that each addition rounds."""
    draw = np.random.default_rng([seed, case.p])
    shape = case.p, case.input_size(0)
    values = np.ldexp(draw.uniform(-1, 1, shape), draw.integers(-4, 5, shape))
    return list(values.astype(dtype))
