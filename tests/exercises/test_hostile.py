"""No submission gets a pass that it has not earned, and none takes the grader down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from collectives.teach import sandbox
from collectives.teach.attempt import SubmissionError
from collectives.teach.exercise import exercise
from collectives.teach.feedback import lines, more
from collectives.teach.grader import Grade, grade, grade_apart
from collectives.teach.limits import guards
from collectives.teach.sandbox import Sandbox

ASKED = exercise("ring_allgather")
EMPTY = "\ndef ring_allgather(comm, sendbuf, recvbuf):\n"


def graded(source: str, patience: float = 20.0) -> Grade:
    return grade_apart(source, ASKED, quick=True, patience=patience)


def test_a_right_submission_passes_in_the_sandbox() -> None:
    assert graded(ASKED.right).verdict == "CORRECT"


SOME = ("send-before-receive", "used-before-wait", "received-into-copy", "tags-differ")


@pytest.mark.parametrize(
    "mutant", [m for m in ASKED.mutants if m.diagnosis in SOME], ids=lambda mutant: mutant.title
)
def test_a_mistake_gets_the_same_name_in_the_sandbox(mutant) -> None:
    result = graded(mutant.source(ASKED.right))
    assert not result.passed
    assert result.diagnosis is not None
    assert result.diagnosis.id == mutant.diagnosis


ENDS = {
    "os._exit(0)": "import os; os._exit(0)",
    "sys.exit(0)": "import sys; sys.exit(0)",
    "raise BaseException": "raise BaseException('PASS')",
    "much memory": "np = __import__('numpy'); x = np.ones(1 << 34)",
    "ignored signals": """import signal
    for number in range(1, 64):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    os = __import__("os"); os._exit(0)""",
    "closed descriptors": "import os; os.closerange(0, 256)",
    "an exception that cannot be told": """class Mute(Exception):
        def __str__(self): raise SystemExit(0)
    raise Mute""",
    "memory bit by bit": "x = []\n    while True: x.append(bytes(1 << 24))",
    "fork bomb": "import os\n    while True: os.fork()",
    "another program": "import subprocess; subprocess.run(['true'])",
    "deep recursion": "ring_allgather(comm, sendbuf, recvbuf)",
    "a signal to the grader": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
    "a crash": "import ctypes; ctypes.string_at(0)",
    "messages without end": "while True: comm.Isend(sendbuf, dest=comm.rank)",
    "endless output": "while True: print('PASS' * 1000); comm.Isend(sendbuf, dest=comm.rank)",
}


@pytest.mark.parametrize("body", ENDS.values(), ids=ENDS)
def test_it_ends_without_a_pass(body: str) -> None:
    assert not graded(f"{EMPTY}    {body}\n").passed


@pytest.mark.parametrize("body", ["import os; os._exit(0)", "raise SystemExit(0)", "1 / 0", "(("])
def test_it_ends_while_it_is_loaded(body: str) -> None:
    result = graded(f"{body}\n{ASKED.right}")
    assert not result.passed
    assert result.diagnosis is not None
    assert result.diagnosis.id in ("cannot-be-loaded", "process-ended")


def test_an_endless_loop_is_called_a_time_limit() -> None:
    result = graded(EMPTY + "    while True:\n        pass\n", patience=1.0)
    assert result.diagnosis is not None
    assert result.diagnosis.id == "endless-loop"
    assert "time limit" in result.said


def test_calls_that_drip_are_a_time_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "TOGETHER", 4.0)
    body = """
    import time
    while True:
        time.sleep(0.1)
        comm.Isend(sendbuf, dest=comm.rank)"""
    assert "all runs together took more than 4 s" in graded(EMPTY + body).said


def test_traffic_that_no_solution_needs_is_not_kept() -> None:
    body = """
    junk = np.zeros(1 << 20)
    comm.Sendrecv(junk, dest=(comm.rank + 1) % comm.size,
                  recvbuf=junk.copy(), source=(comm.rank - 1) % comm.size)"""
    result = graded(ASKED.right + body)
    assert result.diagnosis is not None
    assert result.diagnosis.id == "too-many-calls"


@pytest.mark.parametrize("mutant", exercise("ring_reduce_scatter").mutants, ids=lambda m: m.title)
def test_a_fault_is_told_when_the_sandbox_is_gone(mutant) -> None:
    asked = exercise("ring_reduce_scatter")
    result = grade_apart(mutant.source(asked.right), asked, quick=True, patience=20.0)
    assert result.diagnosis is not None
    assert result.diagnosis.id == mutant.diagnosis
    assert any(line.startswith("  summary") for line in lines(result))


def test_what_is_printed_moves_no_cursor() -> None:
    body = "raise ValueError('\\r\\x1b[2K\\x1b[1A CORRECT \\udcff')  # \x1b[2K CORRECT"
    printed = "\n".join([*lines(result := graded(f"{EMPTY}    {body}\n")), *more(result)])
    assert "?[2K" in printed
    assert all(character.isprintable() for character in printed.replace("\n", ""))
    printed.encode()


def test_a_late_answer_is_no_answer_to_the_next_question() -> None:
    source = """
import time
def best(number):
    if number == 1:
        time.sleep(1.5)
    return number
"""
    with Sandbox(source, patience=1.0) as box:
        with pytest.raises(SubmissionError, match="made no call"):
            box.value("best", 1)
        assert box.value("best", 2) == 2


def test_a_sandbox_that_has_ended_is_made_anew() -> None:
    with Sandbox(ASKED.right, patience=20.0) as box:
        assert box.keeper is not None
        os.killpg(box.keeper.pid, signal.SIGKILL)
        box.keeper.wait()
        box.reset()
        assert grade(box.source, ASKED, box, quick=True).passed


def test_a_sandbox_that_cannot_start_is_no_fault_of_the_submission(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [])  # no package is found
    with pytest.raises(OSError, match=r"no process can be started.*ModuleNotFoundError"):
        graded(ASKED.right)


def test_odd_answers_are_wrong_answers() -> None:
    asked = exercise("rails_and_nics")
    for value in (
        "[[[[[[[[[[[[[1]]]]]]]]]]]]]",
        "float('nan')",
        "{'a': 10**400}",
        "'\\udcff\\x1b'",
    ):
        source = f"def ring_seconds(*given):\n    return {value}\n"
        result = grade_apart(source, asked, quick=True, patience=20.0)
        assert not result.passed
        assert result.checks[0].name == "answers"


FAKES = {
    "prints PASS": "print('PASS'); print('{\"passed\": true}')",
    "writes to every descriptor": """
    import os
    for handle in range(3, 256):
        try:
            os.write(handle, b'{"passed": true, "verdict": "CORRECT"}')
        except OSError:
            pass""",
    "answers in the name of the rank": """
    import gc
    from collectives.teach.wire import Wire
    for wire in [x for x in gc.get_objects() if isinstance(x, Wire)]:
        wire.send({"done": 0}, [np.zeros(sendbuf.size + 64, sendbuf.dtype),
                                np.zeros(recvbuf.size + 64, recvbuf.dtype)])""",
    "replaces what compares": """
    np.array_equal = np.all = lambda *x, **y: True
    import collectives.oracle.findings, collectives.teach.grading as grading
    grading.wrong = lambda *x, **y: None
    collectives.oracle.findings.wrong_values = lambda *x: iter(())""",
    "replaces modules": """
    import sys, types
    for name in list(sys.modules):
        if name.startswith("collectives.teach"):
            sys.modules[name] = types.ModuleType(name)""",
    "replaces the registry": """
    from collectives import registry
    registry._algorithms.clear()
    registry.find = None""",
    "reads the solution, and differs": """
    from collectives.teach.exercise import exercise
    names = {}
    exec(exercise("ring_allgather").right, names)
    names["ring_allgather"](comm, sendbuf, recvbuf)
    recvbuf[0] += 1""",
    "opens other processes": """
    import os
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) != os.getpid():
            try:
                open(f"/proc/{pid}/mem", "r+b")
            except OSError:
                pass""",
    "reads the grader": """
    import collectives.teach.grading as grading, inspect
    text = inspect.getsource(grading)
    recvbuf[:] = len(text)""",
    "looks for other ranks": """
    import gc
    arrays = [x for x in gc.get_objects() if isinstance(x, np.ndarray)]
    n = sendbuf.size
    for rank in range(comm.size):
        for array in arrays:
            if array.dtype == sendbuf.dtype and array.size == n and array is not sendbuf:
                recvbuf[rank * n : (rank + 1) * n] = array""",
    "claims another size": "comm.size = 1; recvbuf[: sendbuf.size] = sendbuf",
    "claims other messages": """
    n = sendbuf.size
    for rank in range(comm.size):
        comm._ask({"call": "Sendrecv", "comm": 0, "line": 1, "post": [], "wait": None}, [])
    recvbuf[:] = 7""",
    "asks for nonsense": """
    for request in ({}, {"call": 1}, {"call": "x", "line": 0, "comm": 99},
                    {"call": "x", "line": 0, "comm": 0, "post": [{"kind": "send"}]}):
        comm._ask(request, [])""",
    "asks for too much room": """
    comm._ask({"call": "Irecv", "comm": 0, "line": 1, "post": [
        {"kind": "receive", "call": "Irecv", "peer": 0, "tag": None, "dtype": "<u8",
         "size": 1 << 40, "place": "own", "early": False}]}, [])""",
}


@pytest.mark.parametrize("body", FAKES.values(), ids=FAKES)
def test_a_fake_is_no_pass(body: str) -> None:
    assert not graded(f"import numpy as np\n{EMPTY}    {body}\n", patience=3.0).passed


def test_nothing_is_written_outside(tmp_path: Path) -> None:
    if "files" not in guards():
        pytest.skip("this system has no Landlock: files are not guarded")
    victim, mine = tmp_path / "victim", tmp_path / "mine"
    victim.write_text("here")
    body = f"""
    import os
    for act in (lambda: open({str(mine)!r}, "w"), lambda: os.remove({str(victim)!r}),
                lambda: open({str(victim)!r}, "w"), lambda: os.mkdir({str(mine)!r})):
        try:
            act()
        except OSError:
            pass"""
    graded(f"{EMPTY}{body}\n")
    assert victim.read_text() == "here"
    assert not mine.exists()


def test_no_process_is_left() -> None:
    body = """
    import os, sys
    for make in (os.fork, lambda: os.posix_spawn(sys.executable, ["left"], {})):
        try:
            if make() == 0:
                while True: pass
        except OSError:
            pass
    recvbuf[:] = 1"""
    with Sandbox(f"{EMPTY}{body}\n", patience=3.0) as box:
        assert box.keeper is not None
        group = box.keeper.pid
        assert "ring_allgather" in box.names()
        assert not grade(box.source, ASKED, box, quick=True).passed
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)


def test_the_file_may_vanish_while_it_is_graded(tmp_path: Path) -> None:
    file = tmp_path / "ring_allgather.py"
    file.write_text(f"import os\ntry:\n    os.remove({str(file)!r})\nexcept OSError:\n    pass\n"
                    f"{ASKED.right}")  # fmt: skip
    command = [sys.executable, "-m", "collectives", "grade", str(file), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert "CORRECT" in done.stdout, done.stderr
    assert done.returncode == 0
