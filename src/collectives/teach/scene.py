"""Calls that are no plain collective: every rank is given arrays and words, and gives a value.

A judge asks for them: ``ask(...)`` calls a function of numbers once, ``ask.ranks(...)`` calls it on
p simulated ranks as ``function(comm, *arrays, *words)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from collectives.comm import Array
from collectives.oracle.worlds import EAGER
from collectives.sim import Network

if TYPE_CHECKING:
    from collectives.teach.attempt import Attempt, Pause
    from collectives.teach.grading import Check, Trials


@dataclass(frozen=True, eq=False)
class Scene:
    """What p ranks are given.

    Attributes
    ----------
    arrays : tuple
        Per rank, its arrays.
    words : tuple
        Numbers and strings that all ranks get, after the arrays.
    late : tuple of float
        Seconds that each rank comes late; none does if it is empty.
    n : int
        Stands for the length that a collective's case has.
    """

    arrays: tuple[tuple[Array, ...], ...]
    words: tuple[Any, ...] = ()
    late: tuple[float, ...] = field(default=())
    n: int = 0

    @property
    def p(self) -> int:
        """The number of ranks."""
        return len(self.arrays)

    def __str__(self) -> str:
        return f"p={self.p}"


class Ask:
    """How a judge asks a submission.

    Parameters
    ----------
    trials, check : Trials, Check
        Where runs are made, and counted.
    pause : Pause, optional
        Which rank stands still, and when.
    """

    def __init__(self, trials: Trials, check: Check, pause: Pause | None = None) -> None:
        self.trials, self.check, self.pause = trials, check, pause
        self.random = np.random.default_rng(trials.seed)

    def __call__(self, *arguments: Any) -> Any:
        """Return what the function gives, as plain data."""
        self.check.tried += 1
        return tame(self.trials.runner.value(self.trials.part.function, *arguments))

    def ranks(
        self,
        arrays: Sequence[Sequence[Array]],
        *words: Any,
        network: Network = EAGER,
        late: Sequence[float] = (),
    ) -> Attempt:
        """Call the function on simulated ranks; what they return stands in ``values``."""
        self.check.tried += 1
        scene = Scene(tuple(map(tuple, arrays)), words, tuple(late))
        if self.pause:
            network = EAGER  # sends that wait for their receives leave fewer orders
        found = self.trials(scene, network, pause=self.pause)
        found.values = [tame(value) for value in found.values]
        if not self.pause:
            self.trials.played.append(replace(found))
        return found


def tame(value: Any, depth: int = 8) -> Any:
    """Return what a submission gave, with integers that no array can hold as words.

    What is nested deeper than `depth` lists is left out.
    """
    if isinstance(value, list | dict) and not depth:
        return "..."
    if isinstance(value, list):
        return [tame(each, depth - 1) for each in value]
    if isinstance(value, dict):
        return {key: tame(each, depth - 1) for key, each in value.items()}
    return f"{str(value)[:20]}..." if isinstance(value, int) and abs(value) >> 63 else value


def plain(value: Any) -> Any:
    """Return a value as JSON has it: lists, numbers, strings, None."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    return value if isinstance(value, int | float | str | None) else repr(value)
