"""A belief, the truth, and the experiment; and what experiments share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from collectives.op import Op
from collectives.registry import find
from collectives.sim import Phantom, simulate
from collectives.teach.runs import Load, counted


class Evidence(NamedTuple):
    """What an experiment gave.

    Attributes
    ----------
    holds : bool
        Whether the truth is what came out.
    how : str
        ``counted`` on simulated ranks, ``simulated`` (times), ``computed``, or ``quoted`` from
        others, where this project cannot measure it.
    text : str
        The numbers.
    """

    holds: bool
    how: str
    text: str


@dataclass(frozen=True)
class Belief:
    """Something that people believe.

    Attributes
    ----------
    number : int
        Of the belief, as in M13.
    says : str
        What is believed.
    verdict : str
        ``false``, or ``half true``.
    truth : str
        What is true instead.
    source : str
        Where else it is discussed; may be empty.
    experiment : callable
        Returns the `Evidence`.
    """

    number: int
    says: str
    verdict: str
    truth: str
    source: str
    experiment: Callable[[], Evidence]

    def __str__(self) -> str:
        return f"M{self.number}"


KNOWN: dict[int, Belief] = {}
"""All that were declared, by number."""


def belief(
    number: int, says: str, truth: str, *, source: str = "", verdict: str = "false"
) -> Callable[[Callable[[], Evidence]], Callable[[], Evidence]]:
    """Declare a belief; the function below is its experiment."""

    def declare(experiment: Callable[[], Evidence]) -> Callable[[], Evidence]:
        KNOWN[number] = Belief(number, says, verdict, truth, source, experiment)
        return experiment

    return declare


# ------------------------------------------------------------------ what experiments share

N = 840
"""Elements of a block: many numbers of ranks divide it."""


def loads(p: int, call: Callable[[Any, Op], Any]) -> list[Load]:
    """Return what each of p simulated ranks does in ``call(comm, op)``."""
    return simulate(lambda comm: counted(comm, call), p).results


def allreduce_loads(name: str, p: int, **options: Any) -> list[Load]:
    """Return what each rank does in an all-reduce of `N` elements for each rank."""
    function = find("allreduce", name).function

    def call(comm: Any, op: Op) -> None:
        function(comm, vector(p), vector(p), op, **options)

    return loads(p, call)


def in_vectors(amounts: list[int], p: int) -> list[float]:
    """Return bytes as multiples of the vector of `allreduce_loads`."""
    return [amount / (4 * N * p) for amount in amounts]


def vector(blocks: int) -> Phantom:
    """Return a vector that has a size and no data."""
    return Phantom(N * blocks, np.float32)
