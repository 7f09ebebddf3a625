"""Call a function on arrays of a device, for callers who have theirs on the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from collectives.comm import Array
from collectives.dtypes import number_type
from collectives.gpu.devices import HOST, Device, at_hand

if TYPE_CHECKING:
    from collectives.oracle.cases import Case
    from collectives.oracle.promises import Subject
    from collectives.oracle.targets import Target
    from collectives.oracle.worlds import World


@dataclass(frozen=True)
class OnDevice:
    """A collective whose NumPy buffers are moved to a device for the call, and back.

    What surrounds a buffer moves with it: a write outside of it shows on the host too.

    Parameters
    ----------
    function : callable
        With the signature of a collective.
    name : str
        Of the device.

    Examples
    --------
    >>> from collectives import allreduce_ring
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(2)
    ...     OnDevice(allreduce_ring, "cpu")(comm, np.ones(2), total)
    ...     return total.tolist()
    >>> simulate(program, 3).results[0]
    [3.0, 3.0]
    """

    function: Callable[..., None]
    name: str

    @property
    def __wrapped__(self) -> Callable[..., None]:
        return self.function  # whose signature this one has

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", "function"))

    def __call__(self, comm: Any, *buffers: Any, **options: Any) -> None:
        move = _Move(at_hand(self.name))
        named = {word: move.there(x, read_only=word == "sendbuf") for word, x in options.items()}
        last = len(buffers) - 1  # the first of two buffers is what is sent, a single one the result
        moved = [move.there(x, read_only=number < last) for number, x in enumerate(buffers)]
        try:
            self.function(comm, *moved, **named)
        finally:
            move.back()


def placed(function: Callable[..., None], name: str) -> Callable[..., None]:
    """Return `function` for NumPy buffers that it gets on a device."""
    return function if name == "cpu" else OnDevice(function, name)


@dataclass(frozen=True)
class TargetOnDevice:
    """A target of the oracle whose functions get their buffers on a device."""

    target: Target
    device: str

    @property
    def name(self) -> str:
        return f"{self.target.name} on {self.device}"

    def subjects(self, collective: str) -> list[Subject]:
        return [
            replace(
                subject, function=placed(subject.function, self.device),
                cannot=partial(_cannot, at_hand(self.device), subject.cannot),
            )
            for subject in self.target.subjects(collective)
        ]  # fmt: skip

    def world(self, patience: float) -> World:
        return self.target.world(patience)


def _cannot(device: Device, cannot: Callable[[Case], str | None], case: Case) -> str | None:
    """Return why a case is not asked: of the target, or for want of such arrays."""
    if case.dtype and not device.has(number_type(case.dtype)):
        return f"{device.name} has no arrays of {case.dtype}"
    return cannot(case)


@dataclass
class _Move:
    """Arrays of the host and their copies on a device."""

    device: Device
    moved: dict[tuple[int, int], tuple[Array, Array]] = field(default_factory=dict)

    def there(self, buffer: Any, *, read_only: bool) -> Any:
        """Return the same part of the copy of its memory; what has no such copy stays.

        Devices have no arrays that are read-only. `read_only` ones are moved all the same, others
        stay, for the function to refuse.
        """
        if type(buffer) is not np.ndarray or not buffer.flags.c_contiguous:
            return buffer
        if buffer.dtype.hasobject or not (buffer.flags.writeable or read_only):
            return buffer
        whole = _whole(buffer)
        place = _address(whole), whole.size
        if place not in self.moved:
            self.moved[place] = whole, self.device.array(whole)
        start = (_address(buffer) - _address(whole)) // whole.itemsize
        part = self.moved[place][1][start : start + buffer.size]
        return part if part.shape == buffer.shape else part.reshape(buffer.shape)

    def back(self) -> None:
        """Bring back what the copies hold; ValueError where the memory is read-only and differs."""
        for whole, copy in self.moved.values() if self.device is not HOST else ():
            there = whole if whole.flags.writeable else np.empty_like(whole)
            self.device.fetch(copy, there)
            if there.tobytes() != whole.tobytes():
                raise ValueError("a read-only array was written to on the device")


def _whole(buffer: Array) -> Array:
    """Return the flat array that `buffer` is a part of, or itself."""
    base = buffer.base
    if type(base) is np.ndarray and base.ndim == 1 and base.dtype == buffer.dtype:
        return base
    return buffer.reshape(-1)


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
