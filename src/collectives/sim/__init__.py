"""Ranks in one process, on virtual time: the same algorithms, no MPI, deterministic.

`simulate` runs a program on p ranks; `Hockney`, `LogGP` or `Cluster` says what a message costs, and
`preset` knows some by name; `Phantom` stands for an array too large to allocate. The kernel knows
time and matching; it knows no collectives.
"""

from collectives.sim.cluster import Cluster, Link
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
from collectives.sim.loggp import LogGP
from collectives.sim.network import Hockney, Network
from collectives.sim.phantom import Phantom
from collectives.sim.presets import PRESETS, Preset, preset

__all__ = [
    "PRESETS", "BufferChangedError", "Cluster", "DeadlockError", "Hockney", "Link", "LogGP",
    "Network", "Phantom", "Preset", "Run", "SimComm", "SimulationError", "TruncationError",
    "TypeMismatchError", "UnfinishedError", "preset", "simulate",
]  # fmt: skip
