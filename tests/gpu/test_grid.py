"""On the stand-in GPU, in simulation, every algorithm is the serial definition on the whole grid.

The algorithms are those that run on NumPy's arrays: not a line of theirs is for devices.
"""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from collectives import BAND, PROD, Op
from collectives.gpu import OnDevice
from collectives.gpu.stand_in import GPU
from collectives.oracle.buffers import Buffers
from collectives.oracle.differences import difference
from collectives.oracle.grids import grid, one_per_size
from collectives.oracle.payloads import AFFINE, UINT64, exact
from collectives.registry import UnsupportedError, algorithms
from collectives.sim import Hockney, simulate

STEP_BY_STEP = [entry for entry in algorithms() if entry.kind == "step by step"]
GCD = Op("GCD", np.gcd)


@pytest.fixture(params=[False, True], ids=["eager", "lazy"], autouse=True)
def lazy(request):
    GPU.lazy = request.param
    yield
    GPU.lazy = False


def faults(entry, case, dtype=UINT64):
    """Run one case on every rank, each buffer on the device; return what is wrong."""
    inputs = exact(case, dtype)
    wanted = case.expected(inputs)
    function = OnDevice(entry.function, GPU.name)
    found = []

    def program(comm):
        buffers = Buffers(case, comm.rank, inputs[comm.rank])
        got = buffers.run(function, comm)
        found.append(difference(case, comm.rank, got, wanted[comm.rank]))
        found.extend(buffers.violations())

    try:
        simulate(program, case.p, network=Hockney(eager_limit=0))
    except UnsupportedError:
        return []
    return [f"{case}: {text}" for text in found if text]


@pytest.mark.parametrize("entry", STEP_BY_STEP, ids=str)
def test_every_case(entry):
    cases = [*grid(entry.collective, [1, 2, 3, 5, 8])]
    cases += one_per_size(entry.collective, [7, 16, 17])
    assert [fault for case in cases for fault in faults(entry, case)] == []


@pytest.mark.parametrize("entry", STEP_BY_STEP, ids=str)
def test_types_and_operations(entry):
    """Those of CuPy: narrow and complex numbers, operations that are not MPI's."""
    (case,) = one_per_size(entry.collective, [5])
    kinds = [np.float16, ml_dtypes.bfloat16, np.complex64, np.float32, np.int8, np.bool_]
    found = [fault for kind in kinds for fault in faults(entry, case, np.dtype(kind))]
    if case.reduces:
        for op in (PROD, BAND, GCD, AFFINE):
            found += faults(entry, replace(case, op=op))
    assert found == []
