"""Run one program on every rank: of the MPI job that this process belongs to, or simulated.

An exception on one rank ends the whole job, however it was launched: without this, the other
ranks would wait for ever.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collectives.sim.network import Network

_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE")
_RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PALS_RANKID", "MV2_COMM_WORLD_RANK")


def under_mpi() -> bool:
    """Tell whether an MPI launcher (mpirun, mpiexec, srun) started this process."""
    return any(name in os.environ for name in _RANKS)


def launch_rank() -> int:
    """Return the rank that the launcher gave this process, before MPI is loaded; 0 if none."""
    return next((int(os.environ[name]) for name in _RANKS if name in os.environ), 0)


def launch_size(alone: int) -> int:
    """Return how many ranks the launcher started, before MPI is loaded; `alone` if none did."""
    found = (int(os.environ[name]) for name in (*_SIZES, "SLURM_NTASKS") if name in os.environ)
    return next(found, alone) if under_mpi() else alone


@dataclass(frozen=True)
class World:
    """Where a program ran.

    Attributes
    ----------
    size : int
        The number of ranks.
    library : str
        The MPI library's name and version; empty where the run was simulated.
    results : list
        What the program returned on each rank; empty on all ranks but 0.
    """

    size: int
    library: str
    results: list[Any]

    @property
    def is_simulated(self) -> bool:
        return not self.library


def everywhere(
    program: Callable[[Any], Any],
    *,
    ranks: int = 8,
    network: Callable[[], Network] | None = None,
) -> World:
    """Run ``program(comm)`` on the ranks of this MPI job, or on `ranks` simulated ones.

    `network` makes what simulated messages travel on. Results are gathered on rank 0. Under MPI,
    an exception on any rank is printed there and ends the job with exit code 1.
    """
    if not under_mpi():
        from collectives.sim import simulate

        run = simulate(program, ranks, network=network() if network else None)
        return World(ranks, "", run.results)
    with abort_on_error():
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        _check_launcher(comm.size)
        results = comm.gather(program(comm))
        return World(comm.size, library_name(), results or [])


def agree(code: int) -> int:
    """Return rank 0's `code` on every rank of this job, so that all end alike."""
    if not under_mpi():
        return code
    from mpi4py import MPI

    agreed = array("i", [code])
    request = MPI.COMM_WORLD.Ibcast(agreed)
    while not request.Test():  # sleep: on few cores, ranks that spin take them from rank 0
        time.sleep(0.001)
    return agreed[0]


class abort_on_error:
    """End the whole MPI job when the block raises; nothing is left waiting."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or (isinstance(error, SystemExit) and not error.code):
            return
        mpi = sys.modules.get("mpi4py.MPI")
        if mpi is None or not under_mpi() or mpi.COMM_WORLD.size == 1:
            return
        who = f"rank {mpi.COMM_WORLD.rank} of {mpi.COMM_WORLD.size}:\n"
        print(who + "".join(traceback.format_exception(error)), end="", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(0.2)  # mpirun passes on what it has read by the time the job ends, not more
        mpi.COMM_WORLD.Abort(1)
        os._exit(1)  # where Abort returns before it strikes


def library_name() -> str:
    """Return name and version of the MPI library, such as ``MPICH 5.0.2``."""
    from mpi4py import MPI

    vendor, version = MPI.get_vendor()
    return f"{vendor} {'.'.join(map(str, version))}"


def _check_launcher(size: int) -> None:
    """Refuse to run as p jobs of one rank, which is what a foreign mpirun makes of us."""
    wanted = next((int(os.environ[name]) for name in _SIZES if name in os.environ), size)
    if wanted != size:
        raise RuntimeError(
            f"the launcher started {wanted} ranks, but the MPI library sees {size}: "
            f"mpirun belongs to another MPI than {library_name()}, which mpi4py loaded"
        )
