"""A device for exercises: a GPU through CuPy where there is one, and else a stand-in for one.

MPI can follow pointers into the memory of the device here, as a library can that is GPU-aware; it
knows nothing of kernels, and finds garbage where one is still at work.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from collectives.comm import Array
from collectives.gpu import Device, at_hand
from collectives.gpu.detect import takes_device_memory
from collectives.gpu.stand_in import StandIn


def device(name: str = "auto") -> Device:
    """Return the device of this name; where there is no GPU, the stand-in, in host memory.

    ``stand-in at once`` is the stand-in with kernels that are done when they are launched.

    Examples
    --------
    >>> device("stand-in").name
    'stand-in'
    """
    if name == "auto":
        try:
            gpu = at_hand("cuda")
        except ValueError:
            return device("stand-in")
        return gpu if takes_device_memory() else device("stand-in")
    place = at_hand(name.removesuffix(" at once"))
    if isinstance(place, StandIn):
        place.lazy = not name.endswith(" at once")
    return place


def seen_by_mpi(array: Any) -> Array:
    """Return what a GPU-aware MPI finds when it follows the pointer of an array, without waiting.

    Pass it to MPI instead of the array: ``comm.Send(seen_by_mpi(block), dest=1)``. Arrays of CuPy
    are passed as they are.

    Examples
    --------
    >>> place = device("stand-in")
    >>> x = place.array(np.array([2.0, 3.0]))
    >>> x *= 2  # launched, perhaps not done
    >>> place.synchronize(x)
    >>> seen_by_mpi(x)
    array([4., 6.])
    """
    if isinstance(array, np.ndarray) or type(array).__module__.startswith("cupy"):
        return array  # type: ignore[no-any-return]
    start, _ = array.__cuda_array_interface__["data"]
    memory = (ctypes.c_ubyte * array.nbytes).from_address(start) if start else bytearray()
    return np.frombuffer(memory, array.dtype)


def tried(ring: Callable[[Any, Array, str], Any]) -> None:
    """Run an exercise under mpirun, or on one rank, and say on which device."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    numbers = np.arange(6.0 * comm.size) + comm.rank
    result = np.asarray(ring(comm, numbers, "auto"))
    right = sum((np.arange(6.0 * comm.size) + rank) ** 2 for rank in range(comm.size))
    if comm.rank == 0:
        place = device()
        where = "a GPU, through CuPy" if place.name == "cuda" else "no GPU: NumPy's stand-in"
        print(f"{comm.size} ranks, {where}: {'right' if np.allclose(result, right) else 'WRONG'}")
