"""Ranks in one process, on virtual time: the same algorithms, no MPI, deterministic.

`simulate` runs a program on p ranks; `Hockney` says what a message costs; `Phantom` stands for an
array too large to allocate. The kernel knows time and matching; it knows no collectives.
"""

from collectives.sim.comm import SimComm
from collectives.sim.errors import (
    BufferChangedError,
    DeadlockError,
    SimulationError,
    TruncationError,
    TypeMismatchError,
    UnfinishedError,
)
from collectives.sim.kernel import Run, simulate
from collectives.sim.network import Hockney
from collectives.sim.phantom import Phantom

__all__ = [
    "BufferChangedError", "DeadlockError", "Hockney", "Phantom", "Run", "SimComm",
    "SimulationError", "TruncationError", "TypeMismatchError", "UnfinishedError", "simulate",
]  # fmt: skip
