"""The script for machines with a GPU, run here to its end on CuPy's double."""

import json
import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts/check_gpu"
PATHS = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests/gpu/double")])


@pytest.fixture(scope="module")
def script():
    spec = spec_from_loader("check_gpu", SourceFileLoader("check_gpu", str(SCRIPT)))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*options, **variables):
    return subprocess.run(
        [sys.executable, str(SCRIPT), *options], capture_output=True, text=True, timeout=400,
        env=os.environ | {"PYTHONPATH": PATHS, "CUDA_VISIBLE_DEVICES": "0"} | variables,
    )  # fmt: skip


def table(done):
    """Return the rows printed last: verdict and name of each, and the last line."""
    *_, summary = done.stdout.partition("==== summary")
    _, *rows, last = summary.strip().splitlines()
    return [(row[:5].strip(), row[6:40].strip()) for row in rows], last


@pytest.mark.slow
def test_all_parts_hold_on_the_double():
    """Ranks share one device, staged and direct."""
    done = run("--ranks", "3", COLLECTIVES_GPU_AWARE="1", NCCL_DOUBLE="23203")
    rows, last = table(done)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {verdict for verdict, _ in rows} == {"PASS"}
    names = [name for _, name in rows]
    for way in ("staged", "direct"):
        assert f"every algorithm, {way}, 3 ranks" in names
        assert f"bandwidth, {way}" in names
        assert f"all-reduce, {way}, bfloat16" in names
    assert {"lesson", "nccl", "nccl:ring/simple"} < set(names)
    assert last == f"{len(rows)} parts, 0 failed; 0 left out"


def test_without_time_everything_is_left_out_and_the_table_says_so():
    """Also NCCL on the stand-in, which is no GPU."""
    assert ("-", "nccl:ring/simple") in table(run("--seconds", "1", "--device", "stand-in"))[0]
    rows, last = table(run("--seconds", "1", "--ranks", "2"))
    assert {verdict for verdict, _ in rows} == {"-"}
    assert last.startswith("0 parts, 0 failed;")


def test_a_library_that_takes_no_gpu_memory_is_not_handed_any():
    done = run("--seconds", "7", "--ranks", "2", COLLECTIVES_GPU_AWARE="")
    rows, _ = table(done)
    assert rows[:2] == [("PASS", "detection"), ("-", "direct")]
    assert not any("direct," in name for _, name in rows)


def test_without_mpirun_one_sentence_says_so(script, monkeypatch):
    monkeypatch.setitem(script.ENVIRONMENT, "PATH", "")
    assert script.what_is_missing("stand-in").startswith("there is no mpirun: run this in the env")


def test_a_command_that_takes_too_long_is_ended_and_what_it_printed_is_kept(script):
    """Also where a process that it has started stays behind."""
    stays = "import subprocess, sys; subprocess.Popen(['sleep', '20']); print('begun', flush=True)"
    code, printed, _ = script.finished([sys.executable, "-c", stays], os.environ, 10)
    assert (code, printed) == (0, "begun\n")
    hangs = "import signal; print('begun', flush=True); signal.pause()"
    code, printed, _ = script.finished([sys.executable, "-c", hangs], os.environ, 1)
    assert (code, printed) == (None, "begun\n")


def test_failures_are_named_in_the_table(script):
    outcomes = [
        {"collective": "bcast", "algorithm": "chain", "checks": [{"passed": False}]},
        {"collective": "bcast", "algorithm": "linear", "checks": [{"passed": True}]},
        {"collective": "bcast", "algorithm": "two", "refused": "needs power_of_two"},
    ]
    printed = "MPI says something\n" + json.dumps({"outcomes": outcomes}, indent=2)
    assert script.held(1, printed, "") == (
        "FAIL", "2 algorithms, 1 failed, 1 refused: bcast/chain",
    )  # fmt: skip
    assert script.held(139, "", "Segmentation fault") == ("FAIL", "exit code 139")
    assert script.last_line(1, "", "one\nCUDARuntimeError\n") == ("FAIL", "CUDARuntimeError")
    assert script.where_it_is(2, "", "collectives: CuPy finds no NCCL\n") == (
        "-", "left out: CuPy finds no NCCL",
    )  # fmt: skip
    assert script.where_it_is(1, "5 faults\n", "") == ("FAIL", "5 faults")
