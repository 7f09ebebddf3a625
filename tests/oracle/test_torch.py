"""torch.distributed as a target: Gloo on CPUs, and what is said where a backend is not there."""

import subprocess
import sys

import pytest

from collectives.op import LAND, MAX, SUM
from collectives.oracle.cases import Case
from collectives.oracle.checking import check
from collectives.oracle.payloads import AFFINE
from collectives.oracle.targets import target_named
from collectives.oracle.targets_torch import FUNCTIONS, Torch

torch = pytest.importorskip("torch", reason='needs torch: pip install "collectives[torch]"')
if not torch.distributed.is_gloo_available():
    pytest.skip("this torch was built without gloo", allow_module_level=True)


@pytest.fixture(scope="module")
def gloo():
    """The target, whose processes all tests share."""
    target = target_named("torch:gloo")
    yield target
    target.world().stop()


@pytest.mark.slow
def test_gloo_holds_or_is_known(gloo):
    """No false alarms, and what is found is what torch 2.13 is known for."""
    report = check(gloo, "ALL", ranks=[1, 2, 3, 5])
    assert report.faults == []
    assert {verdict.collective for verdict in report.verdicts} == {*FUNCTIONS}
    known = {
        (verdict.property, verdict.collective)
        for verdict in report.verdicts
        if "known:" in verdict.detail
    }
    assert known == {
        ("right_values", "reduce"),
        ("right_values", "allreduce"),
        ("special_values", "reduce"),
        ("special_values", "reduce_scatter"),
        ("special_values", "allreduce"),
    }


def test_quick_check_of_one_collective(gloo):
    report = check(gloo, "allgather", ranks=[1, 3], quick=True)
    assert report.exit_code == 0
    assert report.world == f"torch {torch.__version__} gloo"
    status = {verdict.property: verdict.status for verdict in report.verdicts}
    assert status["right_values"] == status["input_unchanged"] == status["works_in_place"] == "held"
    assert status["leaves_no_message_behind"] == "not observable"
    left_out = report.verdicts[0].detail
    assert "torch has no allgather of blocks of different sizes" in left_out
    assert "int16: Invalid scalar type" in left_out


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (Case("allreduce", 3, 4, LAND), "torch has no LAND"),
        (Case("allreduce", 3, 4, AFFINE), "torch has no AFFINE"),
        (Case("allgather", 3, counts=(1, 2, 3)), "of blocks of different sizes"),
        (Case("allreduce", 3, 4, dtype="int16"), "int16: Invalid scalar type"),
        (Case("bcast", 3, 4, dtype="float128"), "float128: can't convert"),
        (Case("allreduce", 3, 4, MAX, dtype="complex64"), "complex64: all_reduce does not support"),
        (Case("gather", 3, 4, dtype="complex64"), "complex64: Invalid scalar type"),
    ],
)
def test_what_torch_does_not_offer_is_not_asked(gloo, case, reason):
    assert reason in gloo.cannot(case)


@pytest.mark.parametrize("dtype", ["", "uint8", "int32", "bfloat16", "float16", "complex64"])
def test_what_torch_offers_is_asked(gloo, dtype):
    assert gloo.cannot(Case("allreduce", 3, 4, SUM, dtype=dtype)) is None


def test_collectives_that_torch_lacks(gloo):
    with pytest.raises(ValueError, match=r"torch\.distributed has no scan"):
        gloo.subjects("scan")


def command(*arguments):
    words = [sys.executable, "-m", "collectives", "check", *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def test_command_line():
    done = command("bcast", "--target", "torch:gloo", "-p", "3", "--only", "right_values")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "right_values                PASS" in done.stdout


@pytest.mark.parametrize("backend", ["nccl", "ucc"])
def test_backend_that_is_not_there(backend):
    if backend == "nccl" and torch.distributed.is_nccl_available() and torch.cuda.device_count():
        pytest.skip("nccl and GPUs are there")
    if backend == "ucc" and torch.distributed.is_ucc_available():
        pytest.skip("ucc is there")
    done = command("allreduce", "--target", f"torch:{backend}")
    assert done.returncode == 2
    assert f"torch:{backend}" in done.stderr
    assert "built without" in done.stderr or "needs a GPU per rank" in done.stderr
    assert "Traceback" not in done.stderr


def test_backend_that_does_not_exist():
    with pytest.raises(ValueError, match="torch:smoke: wants one of gloo, nccl, ucc"):
        Torch("smoke")
