"""The same on real ranks: parameters, losses, bytes, overlap, and the most memory at a time."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from collectives.training import MLP, tolerance

SCRIPT = Path(__file__).with_name("mpi_rank.py")
N, STEPS, RATE = sum(MLP((64, 24, 15, 10)).sizes), 5, 3e-3
TIMES_THE_MODEL = {
    "DDP": lambda k: 2, "ZeRO-1": lambda k: 2, "ZeRO-2": lambda k: k + 1, "ZeRO-3": lambda k: 3 * k,
}  # fmt: skip


@pytest.fixture(scope="module", params=[1, 2, 3, 4, 8])
def report(request):
    command = ["mpirun", "-n", str(request.param), sys.executable, str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return request.param, json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", TIMES_THE_MODEL)
def test_same_as_one_process(report, scheme):
    p, found = report
    for dtype in ("float64", "float32"):
        allowed = tolerance(dtype, steps=STEPS, rate=RATE)
        for micro in (1, 3):
            run = found[scheme][f"{dtype} {micro}"]
            assert run["error"] <= allowed
            assert run["loss"] <= allowed
            sent = TIMES_THE_MODEL[scheme](micro) * (p - 1) * N * np.dtype(dtype).itemsize
            assert run["sent"] == sent


@pytest.mark.slow
@pytest.mark.parametrize("scheme", TIMES_THE_MODEL)
def test_a_thread_that_communicates_changes_nothing(report, scheme):
    p, found = report
    run = found[scheme]["overlap"]
    assert run["same bits"]
    assert run["sent"] == TIMES_THE_MODEL[scheme](2) * (p - 1) * N * 4


@pytest.mark.slow
@pytest.mark.parametrize("scheme", TIMES_THE_MODEL)
def test_the_library_s_collectives_do_as_well(report, scheme):
    _, found = report
    run = found[scheme]["builtin"]
    assert run["error"] <= tolerance("float64", steps=STEPS, rate=RATE)


@pytest.mark.slow
def test_the_most_memory_at_a_time(report):
    """What is kept, and what a step needs besides: one layer, its gradient, what is under way."""
    p, found = report
    kept = {
        "DDP": 4, "ZeRO-1": 2 + 2 / p, "ZeRO-2": 1 + 3 / p, "ZeRO-3": 4 / p,
    }  # fmt: skip
    layer = found["largest layer"]  # less than half of the model
    for scheme, times in kept.items():
        most = found[scheme]["most memory"]
        assert times < most, scheme
    # At most four temporaries of the shard in the optimizer's step, or a layer, its gradient, and
    # the product that becomes the gradient.
    assert found["ZeRO-3"]["most memory"] <= 4 / p + max(4 / p, 3 * layer) + 0.3
    if p >= 4:
        rows = [found[scheme]["most memory"] for scheme in kept]
        assert rows == sorted(rows, reverse=True)
