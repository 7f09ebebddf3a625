"""``collectives trace``, as typed."""

import json
import os
import subprocess
import sys

import pytest

from collectives.recording import Recording

MINE = '''
import numpy as np


def passes_sums(comm, sendbuf, recvbuf, op):
    """Pass sums round the ring instead of vectors: that counts ranks twice."""
    recvbuf[:] = sendbuf
    incoming = np.empty_like(recvbuf)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(comm.size - 1):
        comm.Sendrecv(recvbuf, dest=right, recvbuf=incoming, source=left)
        op(incoming, recvbuf, out=recvbuf)


def forgets_the_result(comm, sendbuf, recvbuf, op):
    """Add up in a buffer of its own, and leave it there."""
    passes_sums(comm, sendbuf, np.empty_like(recvbuf), op)


def waits_in_vain(comm, sendbuf, recvbuf, op):
    if comm.rank == 0:
        comm.Recv(recvbuf, source=1)
'''

SEND_FIRST = '''
def send_first(comm, sendbuf, recvbuf, op):
    """Send to the right, then receive from the left."""
    recvbuf[:] = sendbuf
    comm.Send(sendbuf, dest=(comm.rank + 1) % comm.size)
    comm.Recv(recvbuf, source=(comm.rank - 1) % comm.size)
'''


def trace(*arguments, ranks=0, cwd=None):
    launcher = ["mpirun", "-n", str(ranks)] if ranks else []
    command = [*launcher, sys.executable, "-m", "collectives", "trace", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd=cwd,
        env=os.environ | {"NO_COLOR": "1"},
    )  # fmt: skip


@pytest.mark.parametrize("ranks", [0, 4])
def test_all_files_at_once(ranks, tmp_path):
    names = {"--html": "ring.html", "--svg": "ring.svg", "--perfetto": "ring.json",
             "--json": "run.json"}  # fmt: skip
    files = [part for option, name in names.items() for part in (option, name)]
    size = [] if ranks else ["-p", 4]
    done = trace("allreduce", "ring", *size, *files, ranks=ranks, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "12 steps" not in done.stdout
    assert "6 steps, 24 messages" in done.stdout
    assert ("simulated" in done.stdout) == (not ranks)
    assert (tmp_path / "ring.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "ring.svg").read_text().count("<svg") == 1
    assert json.loads((tmp_path / "ring.json").read_text())["traceEvents"]
    run = Recording.load(tmp_path / "run.json")
    assert (run.ranks, run.simulated, len(run.frames())) == (4, not ranks, 6)
    assert all(event.holds for event in run.events)


def test_the_terminal_shows_steps_bytes_waits_and_messages():
    done = trace("bcast", "binomial", "-p", 5, "--root", 2)
    assert done.returncode == 0, done.stderr
    for text in ("block 0", "bytes and messages per rank", "r2 -> r3", "bcast/binomial.py:"):
        assert text in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_two_runs_are_compared_at_the_same_size(tmp_path):
    done = trace("allreduce", "ring", "-p", 4, "--nbytes", "4kB", "--compare", "rabenseifner",
                 "--html", "two.html", "--svg", "two.png", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("1000 float32 (4 kB in all)") == 2
    assert {file.name for file in tmp_path.iterdir()} == {
        "two.html", "two.png", "two-rabenseifner.png"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("allreduce/ring", ["--figure", "hierarchy", "--network", "a100-8x8"]),
        ("allreduce/hierarchical", ["--figure", "hierarchy", "--per-node", "2"]),
        ("allreduce/double_binary_tree", ["--figure", "trees"]),
        ("allreduce/rabenseifner", ["--figure", "butterfly"]),
        ("alltoall/pairwise", ["--figure", "transpose"]),
    ],
)
def test_figures_of_structure_are_drawn(what, options, tmp_path):
    done = trace(*what.split("/"), "-p", 4, "--svg", "a.svg", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert what in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize("ranks", [0, 2])
def test_a_wrong_result_is_said_and_is_a_fault(ranks, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    size = [] if ranks else ["-p", 2]
    done = trace("allreduce", "mine.py:forgets_the_result", *size, ranks=ranks, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "WRONG RESULT  4 of 4 blocks are not as they must be" in done.stdout
    assert "c0 on r0 has nothing and lacks r0, r1" in done.stdout


def test_steps_are_called_alike_in_all_tables(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    done = trace("allreduce", "mine.py:passes_sums", "-p", 3, cwd=tmp_path)
    assert "9 of 9 blocks are not as they must be" in done.stdout
    assert "step 1 r0  02*     02*     02*     c0-2 -> r1" in done.stdout
    assert "step 1  r0 -> r1  Sendrecv  144 B" in done.stdout
    done = trace("allreduce", "rabenseifner", "-p", 3)
    assert "RS 1  r2 -> r1  Sendrecv   72 B  reduce_scatter/recursive_halving.py" in done.stdout


def test_ranks_that_hang_under_mpirun_are_explained(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    done = trace("allreduce", "mine.py:waits_in_vain", "--patience", 3, ranks=2, cwd=tmp_path)
    assert done.returncode != 0
    assert "NEVER ENDED  1 of 2 ranks have not gone on for 3 s" in done.stdout
    assert "rank 0: Recv from 1 (any tag) at mine.py:22" in done.stdout
    assert "rank 1: has returned" in done.stdout


def test_what_waits_forever_is_in_the_table_of_waits(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    done = trace("allreduce", "mine.py:waits_in_vain", "-p", 3, cwd=tmp_path)
    assert done.returncode == 1
    assert "r0 for r1            forever" in done.stdout
    assert "nobody waited" not in done.stdout


def test_saved_traces_are_compared_once_under_mpirun(tmp_path):
    for name in "ring", "rabenseifner":
        assert trace("allreduce", name, "-p", 2, "--json", f"{name}.json", cwd=tmp_path).stdout
    done = trace("ring.json", "--compare", "rabenseifner.json", "--html", "two.html",
                 ranks=2, cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("allreduce/ring") == done.stdout.count("allreduce/rabenseifner") == 1


def test_a_saved_trace_is_drawn_later(tmp_path):
    assert trace("alltoall", "bruck", "-p", 3, "--json", "run.json", cwd=tmp_path).returncode == 0
    for figure in ("grid", "spacetime", "diary", "bruck"):
        done = trace("run.json", "--svg", f"{figure}.svg", "--figure", figure, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "alltoall/bruck" in (tmp_path / f"{figure}.svg").read_text()


def test_options_of_the_algorithm_and_a_network_are_taken():
    done = trace("allreduce", "multi_ring", "-p", 4, "--channels", 3, "--network", "h100-8")
    assert done.returncode == 0, done.stderr
    assert "72 messages" in done.stdout  # 2 * channels * p * (p - 1)


def test_a_deadlock_is_explained_and_drawn(tmp_path):
    (tmp_path / "mine.py").write_text(SEND_FIRST)
    done = trace("allreduce", "mine.py:send_first", "-p", 3, "--html", "stuck.html",
                 "--svg", "stuck.svg", "--figure", "waitfor", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "NEVER ENDED" in done.stdout
    assert "in a circle: 0 -> 1 -> 2 -> 0" in done.stdout
    assert "mine.py:5" in done.stdout
    assert "mine.py:5" in (tmp_path / "stuck.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["allreduce", "rings"], "allreduce has no algorithm 'rings'"),
        (["allreduce", "ring", "--chanels", "2"], "allreduce_ring takes no options"),
        (["allreduce", "multi_ring", "--channels", "two"], "--channels is 'two'"),
        (
            ["allreduce", "multi_ring", "--channels"],
            "wants an option of the algorithm and its value",
        ),
        (["allreduce", "ring", "--nbytes", "much"], "'much' is no size in bytes"),
        (["allreduce", "ring", "--nbytes", "1kB", "--elements", "3"], "give one of them"),
        (["allreduce", "ring", "--network", "x"], "no network 'x'"),
        (["allreduce", "ring", "--svg", "x.gif"], "--svg x.gif: wants a .png or .svg file"),
        (["allreduce", "ring", "--figure", "x"], "figure is 'x'"),
        (["allreduce", "ring", "--svg", "no/such/folder.svg"], "there is no folder no/such"),
        (["allreduce", "swing", "-p", "3"], "needs power_of_two"),
        (["bcast", "chain", "--root", "9"], "root is 9"),
        (["missing.json"], "No such file"),
        (["missing.json", "ring"], "a run that is over: name cannot be chosen any more"),
        (["missing.json", "-p", "3"], "a run that is over: ranks cannot be chosen any more"),
        (["allreduce", "ring", "--svg", "x.svg", "--figure", "hierarchy"], "are on a node"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(arguments, message, tmp_path):
    done = trace(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
