"""NCCL as a target of the oracle, on a double that MPI carries the messages of."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from collectives.oracle.targets import target_named
from collectives.oracle.targets_nccl import read_back

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests/gpu/double")])


def check(target, *options, ranks=2, **variables):
    """Check all-reduce, or what `options` say, on ranks that share one device."""
    command = ["-m", "collectives", "check", *(options or ("allreduce", "--only", "right_values"))]
    environment = {"PYTHONPATH": PATHS, "CUDA_VISIBLE_DEVICES": "0", "NCCL_DOUBLE": "23203"}
    return subprocess.run(
        ["mpirun", "-n", str(ranks), sys.executable, *command, "--target", target, "--quick"],
        capture_output=True, text=True, timeout=120, env=os.environ | environment | variables,
    )  # fmt: skip


def test_what_nccl_ran_is_read_back():
    log = "host:1:2 [0] NCCL INFO AllReduce: 64 Bytes -> Algo NVLS_TREE proto SIMPLE channel"
    assert [*map(tuple, read_back(log))] == [("AllReduce", 64, "nvlstree", "simple")]
    with pytest.raises(ValueError, match="NCCL has no 'hypercube'; it has tree, ring"):
        target_named("nccl:hypercube")


def test_all_collectives_hold():
    """Other promises, and forced algorithms, are asked of two ranks by ``scripts/check_gpu``."""
    done = check("nccl", "ALL", "--only", "right_values,any_communicator", ranks=3)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASS  ") == 8


def test_a_forced_algorithm_is_forced_and_read_back():
    done = check("nccl:tree/ll128")
    assert done.returncode == 0, done.stdout + done.stderr


def test_another_algorithm_than_was_forced_is_an_error():
    done = check("nccl:tree/ll128", NCCL_DOUBLE_RUNS="ring")
    assert done.returncode == 1
    assert "NCCL ran ring/ll128 for 8 B, wants nccl:tree/ll128" in done.stdout


def test_a_log_that_does_not_say_what_ran_is_an_error():
    done = check("nccl:ring", NCCL_DOUBLE_RUNS="silent")
    assert done.returncode == 1
    assert "NCCL's log does not say what it ran, wants nccl:ring" in done.stdout
    assert check("nccl", NCCL_DOUBLE_RUNS="silent").returncode == 0  # nothing was forced


def test_operations_that_nccl_lacks_are_not_asked_for():
    done = check("nccl", "allreduce", "--only", "order_kept,every_rank_counted_once")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "KeyError" not in done.stdout


def test_a_version_that_wants_a_gpu_per_rank_says_so():
    done = check("nccl", NCCL_DOUBLE="22304")
    assert (done.returncode, done.stdout) == (2, "")
    sentence = "NCCL 22304 wants one GPU per rank, 2 ranks here share 1; NCCL 2.30 lets them"
    assert set(done.stderr.splitlines()) == {f"collectives: {sentence}"}
    assert check("nccl", NCCL_DOUBLE="22304", CUDA_VISIBLE_DEVICES="0,1").returncode == 0


def test_a_library_that_is_not_there_says_how_to_get_it():
    environment = os.environ | {"PYTHONPATH": PATHS}
    done = subprocess.run(
        [sys.executable, "-m", "collectives", "check", "allreduce", "--target", "nccl"],
        capture_output=True, text=True, timeout=60, env=environment,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("collectives: CuPy finds no NCCL: pip install")
    assert done.stderr.count("\n") == 1


def test_without_mpirun_it_says_that_it_needs_it():
    environment = os.environ | {"PYTHONPATH": PATHS, "NCCL_DOUBLE": "23203"}
    done = subprocess.run(
        [sys.executable, "-m", "collectives", "check", "allreduce", "--target", "nccl"],
        capture_output=True, text=True, timeout=60, env=environment,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "mpirun -n 2 collectives check" in done.stderr
