"""What comes out: the right values, of the right ranks, in the right order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from collectives import provenance
from collectives.op import SUM
from collectives.oracle.cases import Case
from collectives.oracle.counted import wrong_counts, wrong_numbers, wrong_terms
from collectives.oracle.findings import Finding, Note, first, wrong_values
from collectives.oracle.grids import every, reducing
from collectives.oracle.payloads import AFFINE, counting, numbered, symbolic
from collectives.oracle.promises import NotClaimed, promise
from collectives.oracle.trials import Target, Trial, trial, trials
from collectives.oracle.worlds import World
from collectives.registry import Algorithm


@promise(every)
def right_values(world: World, function: Target, case: Case) -> Finding | None:
    """Every rank gets what the serial definition says, bit by bit."""
    return first(_ending(x) or first(x.wrong_values()) for x in trials(world, function, case))


def _ending(tried: Trial) -> Finding | None:
    """Return what ended the run; that ranks starve because another has returned too early."""
    fault = tried.fault
    if fault is None or fault.kind != "starved":
        return fault
    results = [seen and seen.result for seen in tried.outcome.results]
    early = first(wrong_values(tried.case, results, tried.case.expected(tried.inputs)))
    return fault if early is None else replace(fault, kind="starved early")


@promise()
def every_rank_counted_once(world: World, function: Target, case: Case) -> Finding | None:
    """Each element of a result has in it who belongs there, once, from the right place."""
    if case.form.brings == "nothing":
        return trial(world, function, case).fault
    if "terms" in world.shows:
        termed = trial(world, function, case, payload=symbolic)
        if termed.fault is None or termed.fault.kind not in ("raised", "mistyped"):
            return termed.fault or first(_wrong_terms(termed, in_order=False))
    if not case.reduces:
        moved = trial(world, function, case, payload=numbered)
        wanted = case.expected(moved.inputs)
        return moved.fault or first(wrong_numbers(case, moved.results, wanted))
    return _counted(world, function, replace(case, op=SUM))


def _counted(world: World, function: Target, case: Case) -> Finding | None:
    """Count with integers, which travel everywhere."""
    parts = provenance.passes(case.p)
    plain = [trial(world, function, case, payload=_COUNTING[part]) for part in parts]
    turned = [trial(world, function, case, payload=_TURNED)] if len(parts) == 1 else []
    if fault := first(each.fault for each in (*plain, *turned)):
        return fault

    def findings() -> Iterator[Finding | None]:
        for rank in range(case.p):
            totals = [each.seen[rank].result for each in plain]
            mixed = [each.seen[rank].result for each in turned]
            yield wrong_counts(case, rank, totals, mixed) if totals[0] is not None else None  # type: ignore[arg-type]

    return first(findings())


_COUNTING = [partial(counting, part=part) for part in provenance.passes(1024)]
_TURNED = partial(counting, turned=True)


@promise(reducing)
def order_kept(
    world: World, function: Target, case: Case, entry: Algorithm | None = None
) -> Finding | Note | None:
    """Operands of an operation that is not commutative are combined in ascending order of ranks."""
    if entry is not None and not entry.keeps_order:
        return NotClaimed(f"{entry} does not claim to keep the order of operands")
    if entry is not None and "terms" in world.shows:
        termed = trial(world, function, case, payload=symbolic)
        return termed.fault or first(_wrong_terms(termed, in_order=True))
    if "user_ops" not in world.shows:
        return NotClaimed("operations of the caller's cannot be had")
    composed = trial(world, function, replace(case, op=AFFINE))
    wrong = first(composed.wrong_values()) if composed.fault is None else None
    if wrong is None:
        return composed.fault
    text = f"of an operation that is not commutative, and was not refused, {wrong}"
    return replace(wrong, text=text, kind="order")


def _wrong_terms(termed: Trial, *, in_order: bool) -> Iterator[Finding]:
    wanted = termed.case.expected(termed.inputs)
    return wrong_terms(termed.case, termed.results, wanted, in_order=in_order)
