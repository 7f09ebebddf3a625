"""The MPI library held to one of its algorithms: ``--target mpi:ring``.

Open MPI takes the choice from its environment when it starts; an algorithm that cannot do what is
asked is replaced there without a word. MPICH is told after it has started, as its own start needs
collectives too, and then refuses what the algorithm cannot do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding, Note
from collectives.oracle.promises import Subject
from collectives.oracle.targets import MpiLibrary
from collectives.oracle.tool_interface import read_control, write_control
from collectives.oracle.trials import Target
from collectives.oracle.which_ran import ran
from collectives.oracle.worlds import World
from collectives.registry import UnsupportedError

CALLS: Final = {
    "allgather": ("allgather", "allgatherv"),
    "allreduce": ("allreduce", ""),
    "alltoall": ("alltoall", "alltoallv"),
    "barrier": ("barrier", ""),
    "bcast": ("bcast", ""),
    "exscan": ("exscan", ""),
    "gather": ("gather", "gatherv"),
    "reduce": ("reduce", ""),
    "reduce_scatter": ("reduce_scatter_block", "reduce_scatter"),
    "scan": ("scan", ""),
    "scatter": ("scatter", "scatterv"),
}
"""MPI's name of each collective: where blocks are equal, and where their sizes are given."""

OPEN_MPI: Final = {
    "allgather": ("linear", "bruck", "recursive_doubling", "ring", "neighbor", "two_proc",
                  "sparbit"),
    "allgatherv": ("default", "bruck", "ring", "neighbor", "two_proc", "sparbit"),
    "allreduce": ("basic_linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring",
                  "rabenseifner"),
    "alltoall": ("linear", "pairwise", "modified_bruck", "linear_sync", "two_proc"),
    "alltoallv": ("basic_linear", "pairwise"),
    "barrier": ("linear", "double_ring", "recursive_doubling", "bruck", "two_proc", "tree"),
    "bcast": ("basic_linear", "chain", "pipeline", "split_binary_tree", "binary_tree", "binomial",
              "knomial", "scatter_allgather", "scatter_allgather_ring"),
    "exscan": ("linear", "recursive_doubling"),
    "gather": ("basic_linear", "binomial", "linear_sync"),
    "reduce": ("linear", "chain", "pipeline", "binary", "binomial", "in_order_binary",
               "rabenseifner"),
    "reduce_scatter": ("non_overlapping", "recursive_halving", "ring", "butterfly"),
    "reduce_scatter_block": ("basic_linear", "recursive_doubling", "recursive_halving",
                             "butterfly"),
    "scan": ("linear", "recursive_doubling"),
    "scatter": ("basic_linear", "binomial", "linear_nb"),
}  # fmt: skip
"""Algorithms of Open MPI 5.0's component *tuned*; the first has number 1."""

MPICH: Final = {
    "allgather": ("brucks", "k_brucks", "recursive_doubling", "ring", "recexch_doubling",
                  "recexch_halving", "nb"),
    "allgatherv": ("brucks", "recursive_doubling", "ring", "nb"),
    "allreduce": ("smp", "recursive_doubling", "recursive_multiplying",
                  "reduce_scatter_allgather", "tree", "recexch", "ring",
                  "k_reduce_scatter_allgather", "ccl", "nb"),
    "alltoall": ("brucks", "k_brucks", "pairwise", "pairwise_sendrecv_replace", "scattered", "nb"),
    "alltoallv": ("pairwise_sendrecv_replace", "scattered", "nb"),
    "barrier": ("smp", "k_dissemination", "recexch", "nb"),
    "bcast": ("binomial", "scatter_recursive_doubling_allgather", "scatter_ring_allgather", "smp",
              "tree", "pipelined_tree", "nb"),
    "exscan": ("recursive_doubling", "nb"),
    "gather": ("binomial", "nb"),
    "gatherv": ("linear", "nb"),
    "reduce": ("binomial", "smp", "reduce_scatter_gather", "nb"),
    "reduce_scatter": ("noncommutative", "pairwise", "recursive_doubling", "recursive_halving",
                       "nb"),
    "reduce_scatter_block": ("noncommutative", "pairwise", "recursive_doubling",
                             "recursive_halving", "nb"),
    "scan": ("smp", "recursive_doubling", "nb"),
    "scatter": ("binomial", "nb"),
    "scatterv": ("linear", "nb"),
}  # fmt: skip
"""Algorithms of MPICH 5.0, as ``MPIR_CVAR_..._INTRA_ALGORITHM`` names them."""

NOT_IN_ORDER: Final = {
    "allreduce": ("ring", "segmented_ring"),
    "reduce": ("chain", "pipeline", "binary", "binomial"),
    "reduce_scatter": ("v:recursive_halving", "v:ring"),
}
"""Those of Open MPI that combine operands in another order than that of the ranks even if the
operation is not commutative; it does not choose them by itself then (open-mpi/ompi#7765)."""

BROKEN: Final = {
    ("openmpi", "allgather", "sparbit"): ("works_in_place", "in place, nothing is exchanged"),
}
"""Which other promise is broken, as found by `scripts/check_mpi` with Open MPI 5.0.11."""

_NEEDED: Final = "refuses what MPICH itself needs to make a communicator"
CANNOT_RUN: Final = {
    ("mpich", "allgather", "recursive_doubling"): f"{_NEEDED}, unless p is a power of two",
    ("mpich", "allreduce", "smp"): f"{_NEEDED} on one node",
    ("mpich", "barrier", "smp"): f"{_NEEDED} on one node",
    ("mpich", "bcast", "smp"): f"{_NEEDED} on one node",
    ("mpich", "reduce_scatter", "v:noncommutative"): "uneven blocks: aborts instead of refusing",
    ("mpich", "reduce_scatter", "v:pairwise"): "in place: aborts as it copies a block onto itself",
    ("openmpi", "allgather", "two_proc"): "refuses what makes a communicator, unless p is 2",
    ("openmpi", "barrier", "two_proc"): "refuses what makes a communicator, unless p is 2",
}
"""What ends the job with MPICH 5.0.2 or Open MPI 5.0.11, found by `scripts/check_mpi`."""

_REFUSALS: Final = (
    "User set collective algorithm is not usable",  # MPICH
    "MPI_ERR_UNSUPPORTED_OPERATION",  # Open MPI's two_proc
)


@dataclass(frozen=True)
class ForcedLibrary(MpiLibrary):
    """The MPI library with one algorithm for one collective.

    Parameters
    ----------
    algorithm : str
        Such as ``ring``; of Open MPI also its number.
    sizes_given : bool
        Whether the form of the call is meant that takes the sizes of blocks.
    """

    algorithm: str = ""
    sizes_given: bool = False

    def subjects(self, collective: str) -> Sequence[Subject]:
        if collective not in CALLS:
            known = ", ".join(CALLS)
            raise ValueError(f"target {self.name} is for one collective of {known}")
        call = CALLS[collective][self.sizes_given]
        if not call:
            raise ValueError(f"MPI's {collective} has no form that takes the sizes of blocks")
        force(call, self.algorithm)
        (plain,) = super().subjects(collective)
        return [
            replace(
                plain, name=f"{call}:{self.algorithm}", function=_refusing(plain.function),
                cannot=lambda case: plain.cannot(case) or self._other_call(case), may_refuse=True,
                ran=partial(_ran, call, self.algorithm, _refusing(plain.function)),
            )
        ]  # fmt: skip

    def _other_call(self, case: Case) -> str | None:
        if not CALLS[case.collective][1] or (case.counts is not None) == self.sizes_given:
            return None
        return "another call of MPI, which is not forced"


def _ran(
    call: str, algorithm: str, function: Target, world: World, case: Case
) -> Finding | Note | None:
    """Return what shows that another algorithm ran than the one asked for."""
    from mpi4py import MPI

    vendor, _ = MPI.get_vendor()
    number = _number(call, algorithm)
    if vendor == "Open MPI":
        name = f"coll_tuned_{call}_algorithm"
        try:
            says = read_control(name) if read_control("coll_tuned_use_dynamic_rules") else 0
        except RuntimeError:
            return Finding(case, f"Open MPI has no {name}: its component is not there", "another")
        if says != number:
            return Finding(case, f"{name} is {says}, wants {number}", "another")
        algorithm = OPEN_MPI[call][number - 1]
    return ran(vendor, call, algorithm, world, function, case)


def library(choice: str = "") -> MpiLibrary:
    """Return the target ``mpi``, or ``mpi:ring``, or for given block sizes ``mpi:v:ring``."""
    if not choice:
        return MpiLibrary()
    sizes_given, algorithm = choice.startswith("v:"), choice.removeprefix("v:")
    return ForcedLibrary(name=f"mpi:{choice}", algorithm=algorithm, sizes_given=sizes_given)


def _refusing(function: Any) -> Any:
    """Return a built-in that tells a refusal of the library from an error."""

    def call(comm: Any, *args: Any, **kwargs: Any) -> None:
        from mpi4py import MPI

        try:
            function(comm, *args, **kwargs)
        except MPI.Exception as error:
            refusal = next((text for text in _REFUSALS if text in str(error)), None)
            if refusal is None:
                raise
            raise UnsupportedError(refusal) from None

    return call


# ------------------------------------------------------------------ telling the library


def force(call: str, algorithm: str) -> None:
    """Make the MPI library of this process use `algorithm` for ``MPI_<call>``; all ranks call this.

    Raises
    ------
    ValueError
        If the library has no such algorithm, or has started already.
    """
    number = _number(call, algorithm)
    settings = {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        f"OMPI_MCA_coll_tuned_{call}_algorithm": str(number),
    }
    if algorithm in MPICH.get(call, ()):
        settings["MPIR_CVAR_DEVICE_COLLECTIVES"] = "none"  # else layers above the choice choose
        settings[f"MPIR_CVAR_{call.upper()}_INTRA_ALGORITHM"] = algorithm
    if "mpi4py.MPI" in sys.modules and not settings.items() <= os.environ.items():
        raise ValueError("the MPI library has started: it takes an algorithm before that only")
    os.environ.update(settings)
    from mpi4py import MPI

    vendor, _ = MPI.get_vendor()
    names = {"MPICH": MPICH, "Open MPI": OPEN_MPI}.get(vendor, {}).get(call, ())
    if algorithm not in names and not (vendor == "Open MPI" and number):
        raise ValueError(f"{vendor} has no {call} {algorithm!r}; it has {', '.join(names)}")
    if vendor == "MPICH":  # in its environment, this would let its own start fail
        write_control("MPIR_CVAR_COLLECTIVE_FALLBACK", 0)  # error


def _number(call: str, algorithm: str) -> int:
    """Return Open MPI's number of an algorithm, 0 where it has none of that name."""
    names = OPEN_MPI.get(call, ())
    if algorithm.isdigit():
        return int(algorithm) if int(algorithm) <= len(names) else 0
    return names.index(algorithm) + 1 if algorithm in names else 0
