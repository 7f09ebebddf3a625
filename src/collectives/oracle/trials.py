"""One call of a target, watched: what every rank is left with, and what it wrote where.

A simulated run is deterministic, and a run on real ranks tells nothing new when it is repeated at
once: properties that look at the same call share its `Trial`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np

from collectives.comm import Array
from collectives.dtypes import number_type
from collectives.op import SUM
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding, wrong_values
from collectives.oracle.payloads import UINT64, exact
from collectives.oracle.worlds import EAGER, RENDEZVOUS, Outcome, World
from collectives.sim import Hockney

Target: TypeAlias = Callable[..., None]
Payload: TypeAlias = Callable[[Case], list[Array]]


@dataclass(frozen=True)
class Seen:
    """One rank after a call.

    Attributes
    ----------
    result : array or None
        What it is left with; None where it has no result.
    changed : str or None
        How its input was written to, if it was.
    outside : str or None
        What was written outside of its result, if anything.
    """

    result: Array | None
    changed: str | None
    outside: str | None


@dataclass(frozen=True)
class Trial:
    """One call in a world: what it was about, and what it left on every rank."""

    case: Case
    inputs: list[Array]
    outcome: Outcome

    @property
    def fault(self) -> Finding | None:
        """What ended the run early, if anything did."""
        return ended(self.case, self.outcome)

    @property
    def seen(self) -> Sequence[Seen]:
        """What the ranks show, after a run that came to its end."""
        return self.outcome.results

    @property
    def results(self) -> list[Array | None]:
        return [rank.result for rank in self.seen]

    def wrong_values(self) -> Iterator[Finding]:
        """Yield, for every rank, where its result is not what the serial definition says."""
        return wrong_values(self.case, self.results, self.case.expected(self.inputs))


def ended(case: Case, outcome: Outcome) -> Finding | None:
    """Return as a finding what ended a run early, if anything did."""
    story = outcome.ending
    if story is None:
        return None
    return Finding(case, story.text, story.kind, story.rank)


def values(case: Case) -> list[Array]:
    """Return exact values of the type that the case asks for."""
    return exact(case, dtype_of(case))


def other_values(case: Case) -> list[Array]:
    """Return other values of that type."""
    return exact(case, dtype_of(case), seed=1)


def dtype_of(case: Case, default: np.dtype[Any] = UINT64) -> np.dtype[Any]:
    """Return the type of the payload."""
    return number_type(case.dtype) if case.dtype else default


def trial(
    world: World,
    function: Target,
    case: Case,
    network: Hockney = EAGER,
    payload: Payload = values,
    pattern: int = 0xA5,
    *,
    frozen: bool = False,
) -> Trial:
    """Make one call on every rank of a world.

    `pattern` is what buffers hold before, byte by byte; `frozen` inputs cannot be written to.
    """
    return _made(world, function, case, network, payload, pattern, frozen)


@lru_cache(maxsize=4096)
def _made(
    world: World, function: Target, case: Case, network: Hockney, payload: Payload, pattern: int,
    frozen: bool,
) -> Trial:  # fmt: skip
    inputs = payload(case)
    program = partial(watched, function, case, inputs, pattern, frozen)
    return Trial(case, inputs, world.run(program, case.p, network=network))


def watched(
    function: Target, case: Case, inputs: Sequence[Array], pattern: int, frozen: bool, comm: Any
) -> Seen:
    """Make the call of one rank and look at its buffers."""
    buffers = Buffers(case, comm.rank, inputs[comm.rank], pattern, frozen=frozen)
    result = buffers.run(function, comm)
    return Seen(result, buffers.changed_input(), buffers.written_outside())


def forget() -> None:
    """Let the next trial of every case be a call of its own."""
    _made.cache_clear()


def trials(world: World, function: Target, case: Case, **how: Any) -> Iterator[Trial]:
    """Yield the call where no send waits and, if that ends and it can be had, where all wait.

    What only waits for ever when sends do is left to `finishes_without_buffering`.
    """
    buffered = trial(world, function, case, EAGER, **how)
    yield buffered
    plain = case.op is SUM and not case.dtype  # what else changes does not change the messages
    if plain and buffered.fault is None and "time" in world.shows:
        waiting = trial(world, function, case, RENDEZVOUS, **how)
        if waiting.fault is None or waiting.fault.kind not in ("deadlock", "starved"):
            yield waiting
