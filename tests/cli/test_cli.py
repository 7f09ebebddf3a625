"""The command line, as typed."""

import importlib
import inspect
import json
import subprocess
import sys

import pytest

from collectives.draw.tables import as_json
from collectives.registry import algorithms

LIBRARIES = (
    "MPICH", "Open MPI", "ADAPT", "HAN", "XHC", "acoll", "libnbc", "NCCL", "Gloo", "UCC", "oneCCL",
    "libbine",
)  # fmt: skip


def run(*arguments, ranks=0):
    launcher = ["mpirun", "-n", str(ranks)] if ranks else []
    command = [*launcher, sys.executable, "-m", "collectives", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


BACKWARDS = '''
from collectives.op import SUM
from collectives.algorithms.reduce_scatter.ring import reduce_scatter_ring
from collectives.algorithms.allgather.ring import allgather_ring
from collectives.blocks import even, split

def forgets_a_step(comm, sendbuf, recvbuf, op=SUM):
    """A ring whose last block is never combined with rank 0's vector."""
    counts = even(recvbuf.size, comm.size)
    own = split(recvbuf, counts)[comm.rank]
    reduce_scatter_ring(comm, sendbuf * (comm.rank > 0), own, op, counts=counts)
    allgather_ring(comm, own.copy(), recvbuf, counts=counts)
'''


def test_list_json_is_the_registry():
    entries = json.loads(run("list", "--json").stdout)
    assert [(e["collective"], e["name"]) for e in entries] == [
        (e.collective, e.name) for e in algorithms()
    ]
    for entry in entries:
        assert {"kind", "requires", "messages", "bytes", "source", "keeps_order"} <= entry.keys()
        assert entry["source"]
        assert entry["summary"]


def test_list_is_a_table():
    done = run("list", "allreduce")
    assert done.returncode == 0
    assert "ring" in done.stdout
    assert "bcast" not in done.stdout.replace("reduce_bcast", "")


def test_list_says_who_ships_what():
    lines = run("list").stdout.splitlines()
    assert max(map(len, lines)) <= 100
    shipped = {entry["name"]: entry["ships"] for entry in map(as_json, algorithms("allreduce"))}
    assert {"NCCL Ring", "Open MPI 4", "MPICH ring"} <= set(shipped["ring"].split(", "))
    assert "segmented_ring              Open MPI 5, Gloo" in lines
    assert any(line.startswith("swing  ") and "published: D. De Sensi" in line for line in lines)


def test_steps_are_those_of_all_ranks_together():
    """A rank that stays out of the middle of an algorithm gets its result when it is ready."""
    output = run("show", "allreduce", "rabenseifner", "-p", 6).stdout
    last = output[output.index("AR 2") :].splitlines()
    assert last[0].split()[:3] == ["AR", "2", "r0"]
    assert last[0].count("012345*") == 6
    assert "AR 3" not in output


@pytest.mark.parametrize("entry", list(algorithms()), ids=str)
def test_shipped_by_known_libraries(entry):
    assert len(entry.ships) <= 90
    for item in entry.ships.split(", ") if entry.ships else ():
        assert item.startswith(LIBRARIES), item
    documented = f"\nShipped as {entry.ships}.\n" in entry.function.__doc__
    assert documented == bool(entry.ships)


def test_list_under_mpi_is_printed_once():
    assert run("list", "bcast", ranks=3).stdout.count("For 8 ranks") == 1


def test_show_gives_documentation_code_and_steps():
    output = run("show", "allreduce", "ring", "-p", 3).stdout
    for part in ("Parameters", "References", "Examples", "reduce_scatter_ring(comm, ", "AG 2  r0"):
        assert part in output


@pytest.mark.parametrize("entry", list(algorithms()), ids=str)
def test_show_works_for_every_algorithm(entry):
    from typer.testing import CliRunner

    from collectives.cli import app

    done = CliRunner().invoke(app, ["show", entry.collective, entry.name])
    assert done.exit_code == 0, done.output
    assert entry.summary in done.output


@pytest.mark.parametrize("ranks", [0, 4])
def test_run_passes_for_the_ring(ranks):
    done = run("run", "allreduce", "ring", "--elements", 1003, "--dtype", "float32", ranks=ranks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAIL" not in done.stdout
    assert ("built-in" in done.stdout) == bool(ranks)


@pytest.mark.parametrize("ranks", [0, 4])
def test_run_names_rank_block_and_contributors(ranks, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(BACKWARDS)
    done = run("run", "allreduce", f"{file}:forgets_a_step", "--elements", 7, ranks=ranks)
    assert done.returncode == 1
    assert "FAIL  rank 0 block 0 has 1+2+3" in done.stdout
    assert "wants 0+1+2+3" in done.stdout


def test_run_reports_as_json(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(BACKWARDS)
    done = run("run", "allreduce", f"{file}:forgets_a_step", "-p", 3, "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert document["ranks"] == 3
    (outcome,) = document["outcomes"]
    assert {c["check"]: c["passed"] for c in outcome["checks"]}["counts"] is False


def test_run_all_has_a_line_for_every_algorithm():
    done = run("run", "ALL", "-p", 4, "--elements", 9)
    assert done.returncode == 0, done.stdout
    for entry in algorithms():
        assert f"{entry} " in done.stdout
    assert ", 0 failed, " in done.stdout


def test_run_all_fails_if_one_does(tmp_path):
    done = run("run", "allreduce", "ALL", "-p", 3, "--elements", 4, "--json")
    document = json.loads(done.stdout)
    assert {o["algorithm"] for o in document["outcomes"]} == {
        e.name for e in algorithms("allreduce")
    }


UNEQUAL = """

def mutated(comm, sendbuf, recvbuf, op=SUM):
    from collectives.algorithms.allgather.ring import allgather_ring
    from collectives.blocks import even

    counts = even(recvbuf.size, comm.size)
    own = split(recvbuf, counts)[comm.rank]
    reduce_scatter_ring(comm, sendbuf, own, op, counts=counts)
    allgather_ring(comm, own.copy(), recvbuf, counts=counts)
"""


@pytest.mark.parametrize("ranks", [0, 4])
def test_run_explains_what_breaks_off(ranks, tmp_path):
    """Of blocks of unequal length, MPI and simulation only see that a message does not fit."""
    ring = importlib.import_module("collectives.algorithms.reduce_scatter.ring")
    source = inspect.getsource(ring)
    mutated = source.replace("range(1, p)", "range(2, p)")
    assert mutated != source
    file = tmp_path / "mine.py"
    file.write_text(mutated + UNEQUAL)
    where = [] if ranks else ["-p", 4]
    done = run("run", "allreduce", f"{file}:mutated", "--elements", 7, *where, ranks=ranks)
    assert done.returncode == 1
    assert "rank 0 block 0 element 0 has 0+2+3, wants 0+1+2+3" in done.stdout + done.stderr


def test_run_explains_a_deadlock(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def hangs(comm, sendbuf, recvbuf, op=None):\n"
                    "    comm.Send(sendbuf, dest=(comm.rank + 1) % comm.size)\n")  # fmt: skip
    done = run("run", "allreduce", f"{file}:hangs", "-p", 3)
    assert done.returncode == 1
    assert "in a circle: 0 -> 1 -> 2 -> 0" in done.stderr + done.stdout
    assert "mine.py:2" in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "allreduse"], "no collective 'allreduse'"),
        (["run", "allreduce", "rink"], "it has reduce_bcast, "),
        (["run", "allreduce", "ring", "--dtype", "foo"], "NumPy has no type 'foo'"),
        (["run", "allreduce", "ring", "--dtype", "float8"], "no type 'float8', nor has ml_dtypes"),
        (["run", "allreduce", "ring", "--op", "AVG"], "wants one of SUM"),
        (["run", "allreduce", "ring", "--op", "BAND"], "op BAND does not work on float64"),
        (["run", "reduce", "linear", "--root", "8"], "root is 8, wants 0..7"),
        (["run", "allreduce", "no_file.py:f"], "there is no file no_file.py"),
        (["run", "allreduce", "builtin"], "needs mpi; got SimComm"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(arguments, message):
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_bench_prints_ratios_and_draws(tmp_path):
    picture = tmp_path / "times.png"
    done = run(
        "bench", "bcast", "--algorithm", "chain", "--sizes", "8,1KiB", "--repetitions", 3,
        "--plot", picture, ranks=2,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len([line for line in done.stdout.splitlines() if line.startswith("bcast")]) == 2
    assert "chain, best " in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "ranks", "message"),
    [
        (["bcast"], 0, "bench measures real MPI"),
        (["bcast", "--algorithm", "bine", "--sizes", "8"], 3, "bcast/bine does not run on 3 ranks"),
        (["bcast", "--sizes", "8 or so"], 2, "is no size in bytes"),
        (["neighbor_alltoall"], 2, "neighbor_alltoall is not measured"),
    ],
)
def test_bench_says_what_it_cannot_do(arguments, ranks, message):
    done = run("bench", *arguments, ranks=ranks)
    assert done.returncode != 0
    assert message in done.stderr
