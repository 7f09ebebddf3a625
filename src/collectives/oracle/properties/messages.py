"""What is sent: everything is received, nothing hangs on buffering, and it is what was claimed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from collectives.comm import Array
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding, Note
from collectives.oracle.grids import FEW, lengths, one_per_form
from collectives.oracle.promises import NotClaimed, NotObservable, promise
from collectives.oracle.trials import Target, ended, trial, values
from collectives.oracle.worlds import RENDEZVOUS, SHOWN, SIMULATED, World
from collectives.registry import Algorithm, find
from collectives.tracing import Trace

Ran: TypeAlias = Callable[[World, Case], Finding | Note | None]

Flow: TypeAlias = list[list[tuple[int, int]]]
"""For every rank, whom it sent how many bytes, in order."""


@promise(lengths, needs="messages")
def leaves_no_message_behind(world: World, function: Target, case: Case) -> Finding | None:
    """All that was sent is received, even where no send waits for it."""
    return trial(world, function, case).fault


@promise(needs="messages")
def messages_match_cost(
    world: World, function: Target, case: Case, entry: Algorithm
) -> Finding | Note | None:
    """As many messages and bytes are sent as the cost function says."""
    if entry.cost is None:
        return NotClaimed(f"{entry} does not say what it costs")
    counted, cost = trial(world, function, case), case.cost(entry.cost)
    if cost is None or counted.fault:
        return counted.fault
    sent = sum(counted.outcome.messages), sum(counted.outcome.nbytes)
    said = cost.messages, cost.times(8).volume
    if sent == said:
        return None
    has, wants = (f"{messages} messages with {nbytes} bytes" for messages, nbytes in (sent, said))
    return Finding(case, f"{has} are sent, cost() says {wants}", "messages", got=has, wanted=wants)


@promise(one_per_form, FEW)
def ran_what_was_asked(
    world: World, function: Target, case: Case, entry: Algorithm, ran: Ran | None = None
) -> Finding | Note | None:
    """Messages are those of the registered algorithm; a library's adds up as the one asked for."""
    if ran is not None:
        return ran(world, case)
    if entry.kind == "built-in" or "messages" not in world.shows:
        return NotObservable(SHOWN["messages"])
    model = find(entry.collective, entry.name).function
    if function is model and world is SIMULATED:
        return None  # it is itself
    inputs = values(case)
    outcome = world.run(partial(_flow, function, case, inputs), case.p)
    if outcome.ending:
        return ended(case, outcome)
    return _difference(case, outcome.results, _flow_of(model, case, inputs))


def _flow_of(model: Target, case: Case, inputs: Sequence[Array]) -> Flow:
    return SIMULATED.run(partial(_flow, model, case, inputs), case.p).results


def _flow(
    function: Target, case: Case, inputs: Sequence[Array], comm: Any
) -> list[tuple[int, int]]:
    """Make the call of one rank and return whom it sent how many bytes."""
    trace = Trace()
    Buffers(case, comm.rank, inputs[comm.rank]).run(function, trace.comm(comm))
    return [(event.peer, event.nbytes) for event in trace.of(comm.rank, "send")]


def _difference(case: Case, has: Flow, wants: Flow) -> Finding | None:
    for rank, (one, other) in enumerate(zip(has, wants, strict=True)):
        for peer in range(case.p):
            got, wanted = ([n for to, n in flow if to == peer] for flow in (one, other))
            if got != wanted:
                story = [f"{len(x)} messages of {x} bytes" for x in (got, wanted)]
                text = f"rank {rank} sends {story[0]} to rank {peer}, wants {story[1]}"
                return Finding(case, text, "messages", rank, got=story[0], wanted=story[1])
    return None


@promise(lengths, needs="rendezvous")
def finishes_without_buffering(world: World, function: Target, case: Case) -> Finding | None:
    """Every rank returns, even when each send waits for its receive."""
    return trial(world, function, case, RENDEZVOUS).fault
