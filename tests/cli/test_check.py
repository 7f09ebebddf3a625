"""``collectives check``, as typed."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from collectives.cli import app

MINE = '''
import numpy as np

def forgets_the_tail(comm, sendbuf, recvbuf, op):
    """Only a multiple of p elements is combined."""
    recvbuf[:] = sendbuf
    usable = sendbuf.size // comm.size * comm.size
    for step in range(1, comm.size):
        other = np.empty_like(sendbuf)
        dest, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        comm.Sendrecv(sendbuf, dest=dest, recvbuf=other, source=source)
        op(recvbuf[:usable], other[:usable], out=recvbuf[:usable])
'''


def check(*arguments):
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return f"{file}:forgets_the_tail"


def test_algorithm_that_holds():
    done = check("allreduce", "ring", "-p", "1-3", "--quick")
    assert done.exit_code == 0, done.output
    assert "  right_values                PASS  " in done.output
    assert "order_kept                  -     not claimed" in done.output


def test_fault_is_named_with_a_command_that_repeats_it(mine):
    done = check("allreduce", mine, "-p", "3,4")
    assert done.exit_code == 1
    assert "suspected: F3 boundary" in done.output
    again = f'again: collectives check allreduce {mine} --case "p=3 n=1" --only right_values'
    assert again in done.output
    repeated = check("allreduce", mine, "--case", "p=3 n=1", "--only", "right_values")
    assert repeated.exit_code == 1
    assert "1 broken" in repeated.output


def test_several_targets_have_a_line_each():
    done = check("barrier", "ALL", "-p", "3", "--quick")
    lines = done.output.splitlines()
    assert done.exit_code == 0
    assert sum(line.startswith("PASS  barrier/") for line in lines) >= 2
    assert not any("builtin" in line for line in lines)


def test_reports_go_to_files_or_to_the_terminal(tmp_path):
    only = ["--only", "zero_length_ok", "-p", "2"]
    files = tmp_path / "r.json", tmp_path / "r.xml"
    done = check("bcast", "linear", *only, "--json", files[0], "--junit", files[1])
    assert "zero_length_ok              PASS" in done.output
    assert json.loads(files[0].read_text())["exit_code"] == 0
    assert "<testsuite " in files[1].read_text()
    assert json.loads(check("bcast", "linear", *only, "--json").output)["world"] == "simulated"
    assert check("bcast", "linear", "--junit", *only).output.startswith("<?xml")
    assert check("bcast", "linear", "--markdown", *only).output.count("| `zero_length_ok` | ✓ |")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing", "ring"], "no collective 'nothing'"),
        (["allreduce", "nothing"], "allreduce has no algorithm 'nothing'"),
        (["allreduce", "no_file.py:f"], "there is no file no_file.py"),
        (["allreduce", "no_module:f"], "no_module cannot be loaded"),
        (["allreduce", "ring", "-p", "x"], "ranks is 'x'"),
        (["allreduce", "ring", "--only", "all"], "no promise 'all'"),
        (["allreduce", "ring", "--case", "n=3"], "wants the number of ranks"),
        (["allreduce", "ring", "--target", "mpi"], "one of the two"),
        (["allreduce", "--target", "abacus"], "no target 'abacus'; there are mpi, "),
        (["allreduce", "--target", "mpi"], "mpirun -n 7"),
        (["allreduce", "builtin"], "there is nothing of allreduce builtin to check"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(arguments, message):
    command = [sys.executable, "-m", "collectives", "check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
