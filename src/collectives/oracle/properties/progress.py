"""What goes on around a call: late ranks, the calls before and after, the caller's messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from collectives.comm import Array
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding, first, wrong_values
from collectives.oracle.grids import FEW, one_per_size
from collectives.oracle.payloads import UINT64, exact
from collectives.oracle.promises import promise
from collectives.oracle.skew import Call, Passed, delays, in_a_row, one_late
from collectives.oracle.trials import Target, ended
from collectives.oracle.worlds import World
from collectives.tracing import Trace


@promise(one_per_size, FEW, needs="delays, several calls")
def survives_skew(world: World, function: Target, case: Case) -> Finding | None:
    """Calls may follow each other at once, with other data and roots, and some ranks be late."""
    if case.collective == "barrier":
        return first(_too_early(world, function, case, late) for late in range(case.p))
    other = replace(case, root=(case.root + 1) % case.p) if case.rooted else case
    calls = [
        (asked, exact(asked, seed=seed)) for seed, asked in enumerate((case, case, other, case))
    ]
    return first(_wrong_in_a_row(world, function, case, calls, seed) for seed in range(3))


def _wrong_in_a_row(
    world: World, function: Target, case: Case, calls: Sequence[Call], seed: int
) -> Finding | None:
    late = delays(case.p, seed, len(calls))
    outcome = world.run(partial(in_a_row, function, calls, late), case.p)
    found = ended(case, outcome)
    if found is None:
        found = first(
            wrong and replace(wrong, text=f"call {i + 1} of {len(calls)}: {wrong}")
            for i, (asked, inputs) in enumerate(calls)
            for wrong in wrong_values(asked, _results(outcome.results, i), asked.expected(inputs))
        )
    if found is None:
        return None
    kind = "anyone" if _takes_anyones(world, function, case) else "skew"
    return replace(found, case=case, kind=found.kind if outcome.ending else kind)


def _results(passed: Sequence[Sequence[Passed]], call: int) -> list[Array | None]:
    return [of_rank[call].result for of_rank in passed]


def _too_early(world: World, function: Target, case: Case, late: int) -> Finding | None:
    nothing = [np.empty(0)] * case.p
    program = partial(in_a_row, function, [(case, nothing)], one_late(case.p, late))
    outcome = world.run(program, case.p)
    if outcome.ending:
        return ended(case, outcome)
    came = outcome.results[late][0].came
    for rank, (passed,) in enumerate(outcome.results):
        if passed.left < came:
            text = f"rank {rank} leaves before rank {late} comes"
            return Finding(case, text, "early", rank)
    return None


def _takes_anyones(world: World, function: Target, case: Case) -> bool:
    """Tell whether some rank receives from any rank: a message of the next call, too."""
    if "messages" not in world.shows:
        return False
    outcome = world.run(partial(_wildcards, function, case, exact(case)), case.p)
    return any(outcome.results)


def _wildcards(function: Target, case: Case, inputs: Sequence[Array], comm: Any) -> bool:
    trace = Trace()
    Buffers(case, comm.rank, inputs[comm.rank]).run(function, trace.comm(comm))
    return any(event.number == -2 for event in trace.of(comm.rank, "receive"))


# ------------------------------------------------------------------ the caller's messages

TAGS = (0, 1, 7, 32767)
"""Of the caller's messages. Every MPI library has tags up to the last one."""


@promise(one_per_size, FEW, needs="traffic")
def survives_foreign_traffic(world: World, function: Target, case: Case) -> Finding | None:
    """Messages and receives of the caller, on its communicator with any tag, stay as they are."""
    inputs = [exact(case, seed=seed) for seed in range(2)]

    def finding(what: str, program: Any) -> Finding | None:
        outcome = world.run(partial(program, function, case, inputs), case.p)
        found = ended(case, outcome)
        if found is None:
            for rank, (amiss, *_) in enumerate(outcome.results):
                if amiss is not None:
                    return Finding(case, f"{what}: rank {rank}: {amiss}", "foreign", rank)
            found = first(
                wrong
                for call in range(len(outcome.results[0]) - 1)
                for wrong in wrong_values(
                    case, [x[call + 1] for x in outcome.results], case.expected(inputs[call])
                )
            )
        if found is None or found.kind == "refused":
            return found
        return replace(found, text=f"{what}: {found}", kind="foreign")

    return first(
        finding(what, program)
        for what, program in {
            "a message of the caller waits": partial(_among_letters, "message"),
            "a receive of the caller waits": partial(_among_letters, "receive"),
            "on two duplicates in turns": _on_two_duplicates,
        }.items()
    )


def _among_letters(
    early: str, function: Target, case: Case, inputs: Sequence[Sequence[Array]], comm: Any
) -> tuple[str | None, Array | None]:
    """Exchange letters around the call; return what is amiss, and the result of the call."""
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    letters = np.full((comm.size, 1), comm.rank, UINT64)
    arrived = np.full((len(TAGS), comm.size, 1), comm.size, UINT64)

    def send() -> list[Any]:
        return [comm.Isend(letters[rank], dest=rank, tag=tag) for tag in TAGS for rank in others]

    def receive() -> list[Any]:
        return [
            comm.Irecv(arrived[i, rank], source=rank, tag=tag)
            for i, tag in enumerate(TAGS)
            for rank in others
        ]

    before, after = (send, receive) if early == "message" else (receive, send)
    requests = before()
    result = Buffers(case, comm.rank, inputs[0][comm.rank]).run(function, comm)
    for request in requests + after():
        request.Wait()
    lost = [rank for rank in others if (arrived[:, rank, 0] != rank).any()]
    if lost:
        return f"the caller's message from {lost[0]} is lost", result
    # The letters came after the calls, and with them what the calls may have left.
    left = early == "receive" and hasattr(comm, "Iprobe") and comm.Iprobe()
    return ("a message is left on the caller's communicator" if left else None), result


def _on_two_duplicates(
    function: Target, case: Case, inputs: Sequence[Sequence[Array]], comm: Any
) -> tuple[None, Array | None, Array | None]:
    """Call on one duplicate of the communicator, then at once on the other."""
    copies = [comm.Dup(), comm.Dup()]
    results = [
        Buffers(case, comm.rank, own[comm.rank]).run(function, copy)
        for own, copy in zip(inputs, copies, strict=True)
    ]
    for copy in copies:
        copy.Free()
    return None, *results  # type: ignore[return-value]
