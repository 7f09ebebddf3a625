"""MPI's tool interface (MPI 4.1, chapter 15): control variables of the library that is loaded."""

from __future__ import annotations

import ctypes
from typing import Any


def write_control(name: str, value: int) -> None:
    """Set a control variable that is an int; RuntimeError where the library does not let it be."""
    _called("MPI_T_cvar_write", _handle(name), ctypes.byref(ctypes.c_int(value)))


def read_control(name: str) -> int:
    """Return the value of a control variable that is an int."""
    value = ctypes.c_int()
    _called("MPI_T_cvar_read", _handle(name), ctypes.byref(value))
    return value.value


def _handle(name: str) -> ctypes.c_void_p:
    from mpi4py import MPI

    index, count, provided = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    handle = ctypes.c_void_p()
    _called("MPI_T_init_thread", MPI.THREAD_SINGLE, ctypes.byref(provided))
    _called("MPI_T_cvar_get_index", name.encode(), ctypes.byref(index))
    _called("MPI_T_cvar_handle_alloc", index, None, ctypes.byref(handle), ctypes.byref(count))
    return handle


def _called(name: str, *arguments: Any) -> None:
    from mpi4py import MPI

    code = getattr(ctypes.CDLL(MPI.__file__), name)(*arguments)  # and so the library it has loaded
    if code:
        raise RuntimeError(f"{name} gives error {code}")
