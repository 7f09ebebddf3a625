"""The MPI library's own collectives, in the three forms in which MPI offers each."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

Mode: TypeAlias = Literal["blocking", "nonblocking", "persistent"]
"""How a built-in is called: at once, started and waited for, or prepared, started, waited for."""


def call(comm: Any, name: str, mode: Mode, *args: Any, **kwargs: Any) -> None:
    """Call collective `name` of an mpi4py communicator, such as ``Allreduce``, in form `mode`."""
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
