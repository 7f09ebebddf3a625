"""Floating point: the same bits everywhere, special values by class, errors within the bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from collectives.comm import Array
from collectives.dtypes import finfo
from collectives.op import MAX, MIN, SUM
from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding, Note, differing_from, first, wrong_value
from collectives.oracle.grids import FEW, alike, float_operations, reducing, sums
from collectives.oracle.payloads import general, rounding, special, symbolic
from collectives.oracle.promises import promise
from collectives.oracle.skew import delays, in_a_row
from collectives.oracle.trials import Target, dtype_of, ended, trial
from collectives.oracle.worlds import World
from collectives.provenance import Term


@promise(alike)
def same_on_all_ranks(world: World, function: Target, case: Case) -> Finding | None:
    """Where all ranks get the same, they get the same bits, however sums are rounded."""
    rounded = trial(world, function, case, payload=rounding)
    return rounded.fault or differing_from(case, rounded.results, rounded.results[0])


@promise(reducing, FEW, needs="delays, several calls")
def same_when_repeated(world: World, function: Target, case: Case) -> Finding | None:
    """The same call gives the same bits again, whichever ranks are late."""
    inputs = rounding(case)
    program = partial(in_a_row, function, [(case, inputs)] * 3, delays(case.p, 5))
    outcome = world.run(program, case.p)
    if outcome.ending:
        return ended(case, outcome)
    return first(
        wrong_value(case, rank, again.result, passed[0].result, "the first time", "repeat")
        for rank, passed in enumerate(outcome.results)
        for again in passed[1:]
    )


# ------------------------------------------------------------------ special values


@promise(float_operations)
def special_values(world: World, function: Target, case: Case) -> Finding | Note | None:
    """NaN, infinities, the sign of zero and denormals come through as the operation says."""
    with np.errstate(all="ignore"):
        tried = trial(world, function, case, payload=special)
        if tried.fault:
            return tried.fault
        wanted = case.expected(tried.inputs)
    results = tried.results
    chosen = case.reduces and case.op in (MIN, MAX)
    for rank, (has, wants) in enumerate(zip(results, wanted, strict=True)):
        if has is None or wants is None:
            continue
        nan, want_nan = np.isnan(has), np.isnan(wants)
        ordinary = ~want_nan if chosen else np.ones(has.size, bool)
        alike = (nan & want_nan) | ((has == wants) & (np.signbit(has) == np.signbit(wants)))
        wrong = np.flatnonzero(~alike & ordinary)
        if wrong.size:
            return _special(case, rank, int(wrong[0]), has, wants)
    return _policy(case, results, wanted) if chosen else None


def _policy(
    case: Case, results: Sequence[Array | None], wanted: Sequence[Array | None]
) -> Finding | Note | None:
    """Return what becomes of a NaN under MIN and MAX, which must not depend on who has it."""
    seen: dict[bool, tuple[int, int]] = {}
    for rank, (has, wants) in enumerate(zip(results, wanted, strict=True)):
        if has is not None and wants is not None:
            for element in np.flatnonzero(np.isnan(wants)).tolist():
                seen.setdefault(bool(np.isnan(has[element])), (rank, element))
    if len(seen) < 2:
        return Note("NaN wins over numbers" if True in seen else "numbers win over NaN")
    (rank, element), (other, where) = seen[True], seen[False]
    text = (
        f"rank {rank} element {element} is NaN, rank {other} element {where} a number: "
        f"whether NaN wins in {case.op.name} depends on which rank has it"
    )
    return Finding(case, text, "special", rank, element, case.block_of(rank, element))


def _special(case: Case, rank: int, element: int, has: Array, wants: Array) -> Finding:
    got, wanted = str(has[element]), str(wants[element])
    block = case.block_of(rank, element)
    text = f"rank {rank} block {block} element {element} has {got}, wants {wanted}"
    return Finding(case, text, "special", rank, element, block, got=got, wanted=wanted)


# ------------------------------------------------------------------ rounding errors


@promise(sums)
def float_error_bounded(world: World, function: Target, case: Case) -> Finding | None:
    """Sums are as near to the exact one as their additions, each rounded once, allow."""
    summed = trial(world, function, case, payload=general)
    if summed.fault:
        return summed.fault
    depths = _depths(world, function, replace(case, op=SUM, dtype=""))
    dtype = dtype_of(case)
    unit = float(finfo(dtype).eps) / 2
    for rank, has in enumerate(summed.results):
        if has is None:
            continue
        rows = _operands(case, summed.inputs, rank)
        for element, got in enumerate(has.astype(np.float64).tolist()):
            column = [float(row[element]) for row in rows]
            exact, size = math.fsum(column), math.fsum(map(abs, column))
            depth = depths[rank][element] if depths else len(column) - 1
            allowed = depth * unit / (1 - depth * unit) * size
            if not abs(got - exact) <= allowed:
                block = case.block_of(rank, element)
                text = (
                    f"rank {rank} block {block} element {element} has {got!r}, the exact sum is "
                    f"{exact!r}: {depth} roundings of {dtype} allow {allowed:.3g}, "
                    f"it is {abs(got - exact):.3g} away"
                )
                return Finding(
                    case, text, "bound", rank, element, block, got=repr(got), wanted=repr(exact)
                )
    return None


def _operands(case: Case, inputs: Sequence[Array], rank: int) -> list[Array]:
    """Return the vectors that the result of `rank` is the sum of."""
    if case.collective == "reduce_scatter":
        start = case.blocks.start(rank)
        return [x[start : start + case.blocks[rank]] for x in inputs]
    stop = {"scan": rank + 1, "exscan": rank}.get(case.collective, case.p)
    return list(inputs[:stop])


def _depths(world: World, function: Target, case: Case) -> list[list[int]] | None:
    """Return how many additions are one after the other in every element; None if not known."""
    if "terms" not in world.shows:
        return None
    termed = trial(world, function, case, payload=symbolic)
    if termed.fault:
        return None
    known: dict[int, int] = {}

    def depth(term: Any) -> int:
        if not isinstance(term, Term) or term.left is None or term.right is None:
            return 0
        if id(term) not in known:
            known[id(term)] = 1 + max(depth(term.left), depth(term.right))
        return known[id(term)]

    return [[] if has is None else list(map(depth, has)) for has in termed.results]
