"""What the registry claims: what is refused, how long it takes, what the formulas say."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from collectives.cost import lower_bound
from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding, Note, first
from collectives.oracle.grids import FEW, one_per_size
from collectives.oracle.payloads import AFFINE, UINT64, exact
from collectives.oracle.promises import NotClaimed, own_options, promise, unmet
from collectives.oracle.properties.width import without_data
from collectives.oracle.trials import Target, ended, trial
from collectives.oracle.worlds import World
from collectives.oracle.wrong_calls import wrong_calls
from collectives.registry import Algorithm, UnsupportedError, commutative
from collectives.sim import Hockney

# ------------------------------------------------------------------- what is refused


@promise(one_per_size, FEW)
def refuses_bad_input(
    world: World, function: Target, case: Case, entry: Algorithm
) -> Finding | None:
    """What cannot be done is refused with ValueError, before any message and any write."""
    wrong = [dict(wrong_calls(case, rank)) for rank in range(case.p)]
    every = dict.fromkeys(what for calls in wrong for what in calls)
    return first(
        _refusal(world, case, function, [calls.get(what) for calls in wrong], ValueError, what)
        for what in every
    )


@promise(one_per_size, refused_too=True)
def refuses_what_it_cannot_do(
    world: World, function: Target, case: Case, entry: Algorithm
) -> Finding | None:
    """What the entry requires is enforced and named; operand order is kept or not promised."""

    def finding(case: Case) -> Finding | None:
        missing, inputs = unmet(entry, case), exact(case)
        if missing == [commutative] and entry.keeps_order:
            return Finding(case, f"order is kept, yet {case.op} refused", "order")
        if missing:
            calls = [
                case.buffers(rank, inputs[rank], np.ones(case.room(rank), UINT64))
                | case.options(rank)
                for rank in range(case.p)
            ]
            need = f"needs {missing[0].name}; got"
            return _refusal(world, case, function, calls, UnsupportedError, need)
        if case.op.commutative:
            return None
        if not entry.keeps_order:
            return Finding(case, f"order is not kept, yet {case.op} not refused", "order")
        composed = trial(world, function, case)
        return composed.fault or first(composed.wrong_values())

    ops = (case.op, AFFINE) if case.reduces else (case.op,)
    return first(finding(replace(case, op=op)) for op in ops)


def _refusal(
    world: World,
    case: Case,
    function: Target,
    calls: Sequence[dict[str, Any] | None],
    wanted: type[ValueError],
    what: str,
) -> Finding | None:
    """Return what is amiss with the way in which `calls`, the arguments of each rank, are refused.

    Ranks without arguments do not call; the others must raise `wanted`, and an UnsupportedError
    must say `what`.
    """
    outcome = world.run(partial(_refused, function, case, calls, wanted, what), case.p)
    if outcome.ending:
        text = f"{what}: wants {wanted.__name__}, got {outcome.ending.text}"
        return Finding(case, text, "accepted", outcome.ending.rank)
    if sum(outcome.messages):
        return Finding(case, f"messages are sent before {what} is refused", "accepted")
    return first(
        text and Finding(case, text, "accepted", rank) for rank, text in enumerate(outcome.results)
    )


def _refused(
    function: Target,
    case: Case,
    calls: Sequence[dict[str, Any] | None],
    wanted: type[ValueError],
    what: str,
    comm: Any,
) -> str | None:
    """Make a call of one rank that is to be refused, and say what is amiss."""
    call = calls[comm.rank]
    if call is None:
        return None
    arrays = [x for x in call.values() if isinstance(x, np.ndarray)]
    before = [x.tobytes() for x in arrays]
    try:
        function(case.place(comm), **call)
    except wanted as error:
        if wanted is UnsupportedError and what not in str(error):
            return f"rank {comm.rank} says {str(error)!r}, wants {what!r}"
        if before != [x.tobytes() for x in arrays]:
            return f"rank {comm.rank} writes before it refuses {what}"
        return None
    return f"rank {comm.rank} does not refuse {what}"


# ------------------------------------------------------------------- what it costs


@promise(needs="time, phantoms")
def time_matches_cost(
    world: World, function: Target, case: Case, entry: Algorithm
) -> Finding | Note | None:
    """The simulated time is that of the cost function, for alpha, beta and gamma each."""
    if entry.cost is None:
        return NotClaimed(f"{entry} does not say what it costs")
    cost = case.cost(entry.cost)
    if cost is None:
        return None
    most = "" if cost.exact else " at most"

    def finding(name: str, network: Hockney) -> Finding | None:
        outcome = world.run(partial(without_data, function, case), case.p, network=network)
        if outcome.ending:
            return ended(case, outcome)
        said = cost.times(8).time(network.alpha, network.beta, network.gamma)
        if outcome.time == said or (most and outcome.time < said):
            return None
        took = f"takes {outcome.time:g} s where {name} is 1 and the others 0"
        return Finding(case, f"{took}, cost() says {said:g}{most}", "cost")

    networks = Hockney(1.0, 0.0, 0.0), Hockney(0.0, 1.0, 0.0), Hockney(0.0, 0.0, 1.0)
    return first(map(finding, ("alpha", "beta", "gamma"), networks))


@promise()
def formulas_match_cost(case: Case, entry: Algorithm) -> Finding | Note | None:
    """The formulas in the docstring's Notes give what the cost function gives."""
    if entry.cost is None:
        return NotClaimed(f"{entry} does not say what it costs")
    cost = case.cost(entry.cost)
    if cost is None or case.counts is not None:
        return None
    if "messages" not in entry.formulas:  # not every volume can be said in a line
        return Finding(case, "the Notes do not say how many messages", "claim")
    names = _ARITHMETIC | own_options(entry, case) | case.names()
    for what, formula in entry.formulas.items():  # some define a name for those that follow
        value = names[what] = eval(formula, names)
        if value != getattr(cost, what, value):
            text = f"{what} {formula} is {value}, cost() says {getattr(cost, what)}"
            return Finding(case, text, "claim")
    return None


_ARITHMETIC: dict[str, Callable[..., Any] | dict[str, Any]] = {
    "__builtins__": {}, "ceil": math.ceil, "floor": math.floor, "log2": math.log2, "max": max,
    "min": min, "range": range, "sum": sum,
}  # fmt: skip


@promise()
def not_below_lower_bound(case: Case, entry: Algorithm) -> Finding | Note | None:
    """The cost function does not promise what no algorithm can keep."""
    if entry.cost is None:
        return NotClaimed(f"{entry} does not say what it costs")
    cost, bound = case.cost(entry.cost), lower_bound(case.collective, case.p, case.n)
    nothing_to_send = case.n == 0 and case.form.brings != "nothing"
    if cost is None or case.counts is not None or nothing_to_send:
        return None
    for what in ("alphas", "betas", "gammas"):
        if getattr(cost, what) < getattr(bound, what):
            least = getattr(bound, what)
            text = f"cost() says {what} {getattr(cost, what)}, least is {least}"
            return Finding(case, text, "claim")
    return None
