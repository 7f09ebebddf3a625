"""Start mpirun behind walls of its own: what it starts is behind them too.

A rank can ask its mpirun for another program (``MPI.COMM_SELF.Spawn``), which no wall around the
rank itself would stop. So mpirun may write to the job's folder only, and has the limits of a rank.
"""

from __future__ import annotations

import os
import sys

from collectives.teach.limits import confine_files, limit

MEMORY = 8 << 30
"""Bytes of address space: MPI libraries map much that they hardly use."""


def writable(folder: str) -> list[str]:
    """Return what an MPI job of this folder may write to."""
    return [folder, "/dev/null", *(["/dev/shm"] if os.path.isdir("/dev/shm") else [])]


def main() -> None:
    """Become the command that follows the folder."""
    folder, *command = sys.argv[1:]
    limit(memory=MEMORY)
    confine_files(writable(folder))
    os.execvp(command[0], command)
