"""The MPI library's own collectives, in the three forms in which MPI offers each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import numpy as np

from collectives.blocks import EvenCounts
from collectives.comm import AsBytes

Mode: TypeAlias = Literal["blocking", "nonblocking", "persistent"]
"""How a built-in is called: at once, started and waited for, or prepared, started, waited for."""


def call(comm: Any, name: str, mode: Mode, *args: Any, **kwargs: Any) -> None:
    """Call collective `name` of an mpi4py communicator, such as ``Allreduce``, in form `mode`."""
    if isinstance(comm, AsBytes):
        with as_elements(comm.dtype, *args) as specified:
            call(comm.comm, name, mode, *specified, **kwargs)
        return
    if mode == "blocking":
        getattr(comm, name)(*args, **kwargs)
    elif mode == "nonblocking":
        getattr(comm, f"I{name.lower()}")(*args, **kwargs).Wait()
    elif mode == "persistent":
        request = getattr(comm, f"{name}_init")(*args, **kwargs)
        request.Start()
        request.Wait()
        request.Free()
    else:
        raise ValueError(f"mode is {mode!r}, wants blocking, nonblocking or persistent")


def are_equal(counts: Sequence[int] | None) -> bool:
    """Tell whether blocks are equal because no sizes were given: so on all ranks, or on none."""
    return isinstance(counts, EvenCounts) and not counts.longer


@contextmanager
def as_elements(dtype: np.dtype[Any], *arguments: Any) -> Iterator[list[Any]]:
    """Lend buffers of a dtype that MPI lacks as MPI takes them: bytes, so many to an element.

    Each of `arguments` is an array, or a list of an array and its counts, or something else,
    which is left as it is.
    """
    from mpi4py import MPI

    element = MPI.BYTE.Create_contiguous(dtype.itemsize).Commit()

    def specified(argument: Any) -> Any:
        array, *counts = argument if isinstance(argument, list) else [argument]
        return [array.view(np.uint8), *counts, element] if hasattr(array, "view") else argument

    try:
        yield [specified(argument) for argument in arguments]
    finally:
        element.Free()
