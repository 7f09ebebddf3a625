"""What stands for device buffers in one MPI call: themselves, or copies in host memory."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from collectives.comm import Array, flat, on_device
from collectives.gpu.devices import device_of, to_host


class Loan:
    """The device buffers of one MPI call, lent to MPI until the call is complete.

    Where MPI takes device memory it gets the buffers themselves, after everything that was
    launched on their stream is done: MPI knows nothing of streams. Where it does not, it gets
    copies in pinned host memory, and what arrives there is copied to the device at the end.
    Once a buffer is lent, nothing that was launched touches it any more.

    Parameters
    ----------
    staged : bool
        Whether MPI gets copies.
    tally : Counter
        Where waits and copies are counted.
    to_mpi : bool
        Whether it is MPI that gets them, and not the simulator.
    """

    __slots__ = ("brought", "fetched", "launched", "staged", "tally", "to_mpi")

    def __init__(self, staged: bool, tally: Counter[str], *, to_mpi: bool = True) -> None:
        self.staged, self.tally, self.to_mpi = staged, tally, to_mpi
        self.launched: list[Array] = []
        self.fetched: list[tuple[Array, Array]] = []
        self.brought: list[tuple[Array, Array]] = []

    def lend(self, buffer: Any, *, reads: bool = True, writes: bool = False) -> Any:
        """Return what to hand to MPI for `buffer`: an array, or mpi4py's ``[array, counts, ...]``.

        `reads` says that MPI needs what the buffer holds, or leaves parts of it as they are;
        `writes` that MPI may write to it. What is not on a device is returned as it is.
        """
        if isinstance(buffer, list | tuple) and buffer and on_device(buffer[0]):
            return [self.lend(buffer[0], reads=True, writes=writes), *buffer[1:]]
        if not on_device(buffer):
            return buffer
        if not self.staged:
            self.launched.append(buffer)
            self._wait(buffer)
            # An empty array has no address, which CuPy and MPI libraries may stumble over.
            return np.empty(0, buffer.dtype) if self.to_mpi and not buffer.size else buffer
        array = flat(buffer)
        copy = device_of(array).pinned(array)
        if reads:
            self.fetched.append((array, copy))
            self._fetch(array, copy)
        else:  # a kernel may still read it, on a stream that is not the current one any more later
            self.launched.append(array)
            self._wait(array)
        if writes:
            self.brought.append((array, copy))
        return copy

    @property
    def copies(self) -> bool:
        """Whether MPI has been lent copies."""
        return bool(self.fetched or self.brought)

    def renew(self) -> None:
        """Bring what MPI was lent up to date, before a persistent request is started again."""
        for array in self.launched:
            self._wait(array)
        for array, copy in self.fetched:
            self._fetch(array, copy)

    def settle(self, nbytes: int | None = None) -> None:
        """Bring what arrived to the device: all of it, or the first `nbytes`."""
        for array, copy in self.brought:
            if nbytes is not None and nbytes < copy.nbytes:
                array, copy = (x.view(np.uint8)[:nbytes] for x in (array, copy))
            device_of(array).store(copy, array)
            self.tally.update(copies=1, nbytes=copy.nbytes)

    def _wait(self, array: Array) -> None:
        device_of(array).synchronize(array)
        self.tally["waits"] += 1

    def _fetch(self, array: Array, copy: Array) -> None:
        device_of(array).fetch(array, copy)
        self.tally.update(copies=1, nbytes=copy.nbytes)


def has_device_buffer(arguments: Any) -> bool:
    """Tell whether one of these arguments of an MPI call lies on a device."""
    return any(
        on_device(argument[0] if isinstance(argument, list | tuple) and argument else argument)
        for argument in arguments
    )


def on_host(op: Callable[..., Any], lower: Array, higher: Array, out: Array) -> Array:
    """Apply an operation that knows host memory only to arrays on a device."""
    say_once(f"{HOST_OPERATIONS}: GPU arrays are copied there and back")
    result = to_host(higher)
    op(to_host(lower), result, out=result)
    device_of(out).store(result, out)
    return out


HOST_OPERATIONS: Final = "operations that are not MPI's own combine on the host"

_SAID: Final[set[str]] = set()


def say_once(text: str) -> None:
    """Warn once in a job, on its rank 0."""
    from mpi4py import MPI

    if text not in _SAID and MPI.COMM_WORLD.rank == 0:
        warnings.warn(text, RuntimeWarning, stacklevel=_frames_of_ours())
    _SAID.add(text)


def _frames_of_ours() -> int:
    """Return how many frames up from `say_once` the caller of this package is."""
    level, frame = 1, sys._getframe(1)
    while frame.f_globals.get("__name__", "").startswith("collectives.") and frame.f_back:
        level, frame = level + 1, frame.f_back
    return level
