"""Algorithms call what CuPy has too: NumPy's protocols lead nowhere else."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

from collectives.gpu import OnDevice
from collectives.gpu.stand_in import FUNCTIONS, GPU, DeviceArray
from collectives.op import PREDEFINED
from collectives.oracle.buffers import Buffers
from collectives.oracle.grids import grid, one_per_size
from collectives.oracle.payloads import UINT64, exact
from collectives.registry import UnsupportedError, algorithms, find
from collectives.sim import simulate

CALLED = {
    "copyto": set(), "empty_like": {"shape"}, "may_share_memory": set(),
    "add": {"out"}, "multiply": {"out"}, "minimum": {"out"}, "maximum": {"out"},
    "logical_and": {"out"}, "logical_or": {"out"}, "logical_xor": {"out"},
    "bitwise_and": {"out"}, "bitwise_or": {"out"}, "bitwise_xor": {"out"},
}  # fmt: skip
"""What of NumPy's algorithms and operations call on arrays, and the keywords that they give."""


@pytest.fixture
def called(monkeypatch):
    """What is called on arrays of the stand-in from now on, and with which keywords."""
    found, ufunc, function = {}, DeviceArray.__array_ufunc__, DeviceArray.__array_function__

    def record_ufunc(array, which, method, *inputs, **kwargs):
        found.setdefault(which.__name__, set()).update(kwargs)
        return ufunc(array, which, method, *inputs, **kwargs)

    def record(array, which, types, args, kwargs):
        assert which.__module__ == "numpy"  # where CuPy looks for its own of the same name
        found.setdefault(which.__name__, set()).update(kwargs)
        return function(array, which, types, args, kwargs)

    monkeypatch.setattr(DeviceArray, "__array_ufunc__", record_ufunc)
    monkeypatch.setattr(DeviceArray, "__array_function__", record)
    monkeypatch.setattr(GPU, "lazy", False)
    return found


def run(entry, case):
    inputs = exact(case, UINT64)

    def program(comm):
        Buffers(case, comm.rank, inputs[comm.rank]).run(OnDevice(entry.function, GPU.name), comm)

    try:
        simulate(program, case.p)
    except UnsupportedError:
        return


def test_what_is_called_is_what_this_list_says(called):
    for entry in algorithms():
        if entry.kind == "step by step":
            for case in (*one_per_size(entry.collective, [4, 5]), *grid(entry.collective, [3])):
                run(entry, case)
    ring, (case,) = find("allreduce", "ring"), one_per_size("allreduce", [3])
    for op in PREDEFINED.values():
        run(ring, replace(case, op=op))
    assert called == CALLED


def test_cupy_has_all_of_them():
    """And what the stand-in knows besides, which is for training and for users."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    for name, keywords in ({each.__name__: set() for each in FUNCTIONS} | CALLED).items():
        theirs = getattr(cupy, name)
        if isinstance(getattr(np, name), np.ufunc):
            assert isinstance(theirs, cupy.ufunc), name
        elif keywords:
            assert keywords <= inspect.signature(theirs).parameters.keys(), name


def test_cupy_combines_narrow_and_complex_numbers():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    for name in ("add", "multiply"):
        assert {"ee->e", "FF->F", "DD->D"} <= set(getattr(cupy, name).types)
