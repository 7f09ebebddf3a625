"""What may be written and read: the result is written, the input read, nothing else touched."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from collectives.comm import Array
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding, first, on_rank, wrong_value
from collectives.oracle.grids import FEW, in_place, lengths, rooted
from collectives.oracle.payloads import exact, rounding
from collectives.oracle.promises import promise
from collectives.oracle.trials import Target, Trial, ended, trial, trials
from collectives.oracle.worlds import World

OTHER_LEFTOVERS = 0xFF
"""What buffers hold before, byte by byte, the second time: floats of it are NaN."""


@promise(lengths, needs="buffers")
def input_unchanged(world: World, function: Target, case: Case) -> Finding | None:
    """What ranks bring is not written to, not even to be put back."""
    found = first(x.fault or _changed(x) for x in trials(world, function, case))
    if found is not None or case.p not in FEW:
        return found
    return _refused_write(trial(world, function, case, frozen=True))


def _refused_write(frozen: Trial) -> Finding | None:
    """Return where the input was written to although it could not be."""
    fault = frozen.fault
    if fault is None or (fault.kind == "raised" and "read-only" not in fault.text):
        return None  # some take no read-only arrays, and need not
    return replace(fault, text=f"the input is read-only: {fault.text}", kind="input")


def _changed(watched: Trial) -> Finding | None:
    return first(
        on_rank(watched.case, rank, "input", seen.changed)
        for rank, seen in enumerate(watched.seen)
        if seen.changed
    )


@promise(lengths, needs="buffers")
def writes_only_result(world: World, function: Target, case: Case) -> Finding | None:
    """Nothing is written around a result, nor where a rank has none."""
    other = trial(world, function, case, payload=rounding, pattern=OTHER_LEFTOVERS)
    return first(x.fault or _outside(x) for x in (*trials(world, function, case), other))


def _outside(watched: Trial) -> Finding | None:
    return first(
        on_rank(watched.case, rank, "outside", seen.outside)
        for rank, seen in enumerate(watched.seen)
        if seen.outside
    )


@promise(lengths, needs="buffers")
def reads_only_input(world: World, function: Target, case: Case) -> Finding | None:
    """What result buffers held before does not matter, be it NaN."""
    one = trial(world, function, case, payload=rounding)
    two = trial(world, function, case, payload=rounding, pattern=OTHER_LEFTOVERS)
    if fault := one.fault or two.fault:
        return fault
    source = "after other leftovers in its buffer"
    return first(
        wrong_value(case, rank, *results, source, "leftover")
        for rank, results in enumerate(zip(one.results, two.results, strict=True))
    )


@promise(in_place, needs="in_place")
def works_in_place(world: World, function: Target, case: Case) -> Finding | None:
    """With ``IN_PLACE``, results are right and nothing else is written."""
    inside = trial(world, function, replace(case, in_place=True))
    return inside.fault or first(inside.wrong_values()) or _changed(inside) or _outside(inside)


@promise(rooted, FEW)
def ignored_arguments_ignored(world: World, function: Target, case: Case) -> Finding | None:
    """What means nothing on a rank, such as a result buffer that is not the root's, is ignored."""
    inputs = exact(case)
    wanted = case.expected(inputs)

    def finding(what: str) -> Finding | None:
        outcome = world.run(partial(_with_garbage, function, case, inputs, what), case.p)
        found = ended(case, outcome) or first(
            wrong_value(case, rank, has, wants)
            for rank, (has, wants) in enumerate(zip(outcome.results, wanted, strict=True))
        )
        if found is None:
            return None
        kind = "refused" if found.kind == "refused" else "ignored"
        return replace(found, text=f"with {what} where nothing is wanted: {found}", kind=kind)

    return first(map(finding, ("garbage",) if case.collective == "exscan" else _GARBAGE))


_GARBAGE: dict[str, Any] = {"None": None, "garbage": np.full(1, np.nan, np.float32)}


def _with_garbage(
    function: Target, case: Case, inputs: list[Array], what: str, comm: Any
) -> Array | None:
    """Make the call of one rank, with garbage for the buffers that it does not have."""
    buffers = Buffers(case, comm.rank, inputs[comm.rank], OTHER_LEFTOVERS)
    handed = case.buffers(comm.rank, buffers.sent.inside, buffers.received.inside)
    if comm.rank != case.root and case.form.to_root:
        handed["recvbuf"] = _GARBAGE[what]
    if comm.rank != case.root and case.form.from_root and "sendbuf" in handed:
        handed["sendbuf"] = _GARBAGE[what]
    function(comm, *handed.values(), **case.options(comm.rank))
    return buffers.result
