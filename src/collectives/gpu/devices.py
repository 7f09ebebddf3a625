"""Where arrays can be: in the memory of the host, or in that of a GPU through CuPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, Protocol

import numpy as np

from collectives.comm import Array, on_device
from collectives.launch import under_mpi


class Device(Protocol):
    """One kind of memory for arrays, and what has to be done around it.

    Attributes
    ----------
    name : str
        As in ``--device``.
    """

    name: str

    def count(self) -> int:
        """Return how many of these devices this process sees; ValueError if none."""

    def current(self) -> int:
        """Return the number of the device on which arrays are made."""

    def use(self, number: int) -> None:
        """Make arrays on this device from now on."""

    def has(self, dtype: np.dtype[Any]) -> bool:
        """Tell whether there are arrays of this type."""

    def where(self, array: Array) -> int:
        """Return the number of the device that holds `array`."""

    def array(self, values: Array) -> Array:
        """Return a copy of host `values` on the current device."""

    def pinned(self, like: Array) -> Array:
        """Return a host array of the shape and type of `like`, in memory that does not move."""

    def fetch(self, array: Array, host: Array) -> None:
        """Copy from the device to the host, and return when that is done."""

    def store(self, host: Array, array: Array) -> None:
        """Copy from the host to the device, and return when that is done."""

    def synchronize(self, array: Array) -> None:
        """Return when everything launched on the current stream of its device is done."""


class Host:
    """The memory in which NumPy's arrays are; nothing has to be done."""

    name = "cpu"

    def count(self) -> int:
        return 1

    def current(self) -> int:
        return 0

    def use(self, number: int) -> None:
        """There is one host."""

    def has(self, dtype: np.dtype[Any]) -> bool:
        return True

    def where(self, array: Array) -> int:
        return 0

    def array(self, values: Array) -> Array:
        return values

    def pinned(self, like: Array) -> Array:
        return np.empty(like.shape, like.dtype)

    def fetch(self, array: Array, host: Array) -> None:
        host[...] = array

    def store(self, host: Array, array: Array) -> None:
        array[...] = host

    def synchronize(self, array: Array) -> None:
        """NumPy's functions return when they are done."""


HOST: Final = Host()


@cache
def _cuda() -> Device:
    from collectives.gpu.cuda import Cuda

    return Cuda()


def _stand_in() -> Device:
    from collectives.gpu.stand_in import GPU

    return GPU


DEVICES: Final[dict[str, Callable[[], Device]]] = {
    "cpu": lambda: HOST,
    "cuda": _cuda,
    "stand-in": _stand_in,
}
"""What ``--device`` may name."""

PACKAGES: Final = {"cupy": "cuda", "collectives": "stand-in"}
"""Whose arrays are on which device."""


def at_hand(name: str) -> Device:
    """Return the device of this name; ValueError says what is missing.

    Examples
    --------
    >>> at_hand("cpu").array(np.arange(2))
    array([0, 1])
    """
    if name not in DEVICES:
        raise ValueError(f"device is {name!r}, wants one of {', '.join(DEVICES)}")
    device = DEVICES[name]()
    device.count()
    return device


def device_of(array: Any) -> Device:
    """Return what knows the memory of `array`."""
    if not on_device(array):
        return HOST
    for kind in type(array).__mro__:  # a class of the user's may be derived from CuPy's
        package = kind.__module__.partition(".")[0]
        if package in PACKAGES:
            return DEVICES[PACKAGES[package]]()
    name = f"{type(array).__module__}.{type(array).__qualname__}"
    raise ValueError(f"the array is a {name} on a device, wants CuPy's")


def to_host(array: Array) -> Array:
    """Return an array of the host with the contents of `array`, which is one itself or is not."""
    device = device_of(array)
    if device is HOST:
        return array
    copy = device.pinned(array)
    device.fetch(array, copy)
    return copy


def in_one_place(sendbuf: Array, recvbuf: Array) -> None:
    """Refuse buffers in different memories: algorithms combine one with the other."""
    mine, theirs = device_of(sendbuf), device_of(recvbuf)
    places = (mine.name, mine.where(sendbuf)), (theirs.name, theirs.where(recvbuf))
    if places[0] != places[1]:
        got = " and recvbuf ".join(f"on {name} device {number}" for name, number in places)
        raise ValueError(f"sendbuf is {got}, wants both on one device")


def use_device(device: Device, comm: Any) -> int:
    """Make arrays on the device of this rank from now on, and return its number.

    Ranks on one machine take its devices in turns; several may share one. Simulated ranks are
    one process and share the first. All ranks of an MPI communicator call this.
    """
    number = local_rank(comm) % device.count()
    device.use(number)
    return number


def take(name: str) -> Device:
    """Return the device of this name, for this rank of an MPI job; all ranks call this.

    ValueError on all of them where one has none, or where COLLECTIVES_GPU_AWARE asks for what is
    not there.
    """
    if not under_mpi():
        return at_hand(name)
    from mpi4py import MPI

    from collectives.gpu.detect import takes_device_memory

    missing = ""
    try:
        at_hand(name)
        takes_device_memory()
    except ValueError as error:
        missing = str(error)
    for text in MPI.COMM_WORLD.allgather(missing):
        if text:
            raise ValueError(text)
    device = at_hand(name)
    use_device(device, MPI.COMM_WORLD)
    return device


def local_rank(comm: Any) -> int:
    """Return the number of this rank among those on its machine."""
    if not hasattr(comm, "Split_type"):
        return 0
    from mpi4py import MPI

    machine = comm.Split_type(MPI.COMM_TYPE_SHARED)
    rank: int = machine.rank
    machine.Free()
    return rank
