"""What is run on the MPI library, and what came of it: judged from the bytes that a run leaves.

Of a collective: short vectors, a long one, and one whose sends all wait for their receives. Of an
exercise with a judge: the scenes that the judge asked for, where the job has ranks enough. What the
judge has accepted in simulation is what they have to give here.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from collectives.comm import Array
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.trials import Seen
from collectives.oracle.worlds import EAGER, RENDEZVOUS
from collectives.teach.attempt import PATTERN, Attempt
from collectives.teach.exercise import Part
from collectives.teach.grading import PAYLOADS, Wrong, wrong
from collectives.teach.judging import alike
from collectives.teach.orders import has_choice
from collectives.teach.rank import words_of
from collectives.teach.scene import Scene, tame

SIZE: Final = 4
"""Ranks of the job."""

MOST_SCENES: Final = 6
"""Scenes of one function."""

_MOST_LEFT: Final = 1 << 24
"""Bytes that a rank leaves of one call."""


@dataclass(frozen=True)
class Planned:
    """One call under MPI.

    Attributes
    ----------
    part, case, synchronous
        The function, what it is called on, and whether sends wait for their receives.
    inputs : sequence of sequence of array
        Of each rank.
    wanted : list or None
        What each rank gives in a scene; empty if that did not come to its end in simulation.
    part_off : float
        By which part of the largest number those may be off.
    """

    part: Part
    case: Case | Scene
    synchronous: bool
    inputs: Sequence[Sequence[Array]]
    wanted: list[Any] | None = None
    part_off: float = 0.0

    def words(self) -> dict[str, Any]:
        """Return the call for the ranks of the job, all but its arrays."""
        said: dict[str, Any] = {"function": self.part.function, "synchronous": self.synchronous}
        if isinstance(self.case, Scene):
            return said | {"p": self.case.p, "words": self.case.words}
        return said | {"p": self.case.p, "case": words_of(self.case)}

    def attempt(self) -> Attempt:
        """Return a run of which nothing is known yet."""
        network = RENDEZVOUS if self.synchronous else EAGER
        inputs = [] if self.wanted is not None else [given[0] for given in self.inputs]
        return Attempt(self.case, network, inputs)  # type: ignore[arg-type]

    def fault(self, folder: Path, number: int) -> Wrong | None:
        """Return what is wrong with the results that a finished run has left."""
        found = self.attempt()
        for rank in range(self.case.p):
            data = left_in(folder / f"result-{number}-{rank}")
            note = self._left if self.wanted is None else self._given
            fault = note(found, rank, data)
            if fault:
                return Wrong("mpi value", fault, found, rank=rank)
        seen = wrong(found, counted=False) if self.wanted is None else None
        return seen and replace(seen, kind=f"mpi {seen.kind}")

    def _left(self, found: Attempt, rank: int, data: bytes) -> str:
        """Note what a rank has left in its buffers; say so if it is nothing."""
        assert isinstance(self.case, Case)
        buffers = Buffers(self.case, rank, found.inputs[rank], PATTERN)
        wholes = (buffers.sent.whole, buffers.received.whole)
        if len(data) != sum(whole.nbytes for whole in wholes):
            return f"rank {rank} left no result"
        wholes[0][:] = np.frombuffer(data[: wholes[0].nbytes], wholes[0].dtype)
        wholes[1][:] = np.frombuffer(data[wholes[0].nbytes :], wholes[1].dtype)
        found.seen.append(Seen(buffers.result, buffers.changed_input(), buffers.written_outside()))
        return ""

    def _given(self, found: Attempt, rank: int, data: bytes) -> str:
        """Note what a rank gives; say so if it is another thing than in simulation."""
        assert self.wanted is not None
        try:
            found.values.append(tame(json.loads(data)))
        except (ValueError, RecursionError):
            return f"rank {rank} gave nothing"
        if not self.wanted or alike(found.values[rank], self.wanted[rank], self.part_off):
            return ""
        return f"rank {rank} gives another result than in simulation"


def planned(parts: Sequence[Part], played: Sequence[tuple[Part, Attempt]]) -> list[Planned]:
    """Return the calls to make: of the collectives among the parts, and of the scenes played."""
    seed = secrets.randbits(32)
    calls = [call for part in parts if part.collective for call in _collective(part, seed)]
    for part in parts:
        found = [each for of, each in played if of is part and each.case.p <= SIZE]
        calls += [_scene(part, each) for each in found[:MOST_SCENES]]
    return calls


def _collective(part: Part, seed: int) -> Iterator[Planned]:
    form = Case(part.collective, SIZE)
    options = tuple(part.options[-1].items())
    for p, n, synchronous in ((4, 7, False), (3, 7, False), (4, 100_003, False), (4, 7, True)):
        chosen = options if n < 100 else tuple((k, v * 4096) for k, v in options)
        if form.form.brings == "nothing":
            n = 0
        case = Case(part.collective, p, n // p if form.by_blocks else n, chosen=chosen)
        if form.rooted:
            case = replace(case, root=p - 2)
        if part.counts:
            case = replace(case, counts=(case.n,) * p)
        inputs = [[array] for array in PAYLOADS["random"](case, seed)]
        yield Planned(part, case, synchronous, inputs)


def _scene(part: Part, found: Attempt) -> Planned:
    scene: Any = found.case
    # Sums of messages in another order are rounded otherwise, by half precision at most.
    off = 2.0**-9 if has_choice([found]) else 1e-9
    return Planned(part, scene, found.network == RENDEZVOUS, scene.arrays, found.values, off)


def left_in(path: Path) -> bytes:
    """Return what a rank has left in a file; nothing where it is none, or far too long.

    The folder was the submission's: there may be a link, or a pipe that nobody writes to.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return b""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_LEFT:
        os.close(handle)
        return b""
    with open(handle, "rb") as file:
        return file.read(_MOST_LEFT)
