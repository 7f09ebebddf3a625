"""Whether MPI takes GPU memory: libraries that say so and that do not, and who is believed."""

import ctypes
import subprocess
from types import SimpleNamespace

import pytest
from mpi4py import MPI

from collectives.gpu import detect
from collectives.gpu.detect import VARIABLE, Clue, awareness, names_device_memory


def lists(monkeypatch, kinds):
    """Make the communicator's info list these kinds of memory; None for no such key."""
    info = SimpleNamespace(Get=lambda key: kinds, Free=lambda: None)
    monkeypatch.setattr(MPI, "COMM_WORLD", SimpleNamespace(Get_info=lambda: info))


def answers(monkeypatch, number):
    """Make the library's function answer so; None for no such function."""
    functions = {} if number is None else {"MPIX_Query_cuda_support": lambda: number}
    monkeypatch.setattr(ctypes, "CDLL", lambda path: SimpleNamespace(**functions))


def prints(monkeypatch, tmp_path, listed, code=0):
    """Make this library Open MPI, whose ``ompi_info`` prints so."""
    command = tmp_path / "ompi_info"
    command.write_text(f"#!/bin/sh\ncat <<'END'\n{listed}\nEND\nexit {code}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(MPI, "get_vendor", lambda: ("Open MPI", (4, 1, 6)))


@pytest.mark.parametrize(
    ("kinds", "is_named"),
    [
        ("cuda", True), ("mpi,system,cuda", True), ("system, CUDA:device ,mpi", True),
        ("cuda:host:device", True), ("cuda:host", False), ("cuda:managed", False),
        ("mpi,system", False), ("", False), ("rocm,ze:device", False), ("cudahost", False),
    ],
)  # fmt: skip
def test_kinds_of_memory(kinds, is_named):
    assert names_device_memory(kinds) is is_named


@pytest.mark.parametrize(
    ("kinds", "number", "aware", "reason"),
    [
        ("mpi,system", 0, False, "mpi_memory_alloc_kinds says mpi,system"),
        ("mpi,system", 1, True, "MPIX_Query_cuda_support says 1"),
        ("mpi,system,cuda", 0, True, "mpi_memory_alloc_kinds says mpi,system,cuda"),
        (None, 0, False, "MPIX_Query_cuda_support says 0"),
        (None, 1, True, "MPIX_Query_cuda_support says 1"),
        ("mpi,system,cuda:host", None, False, "mpi_memory_alloc_kinds says mpi,system,cuda:host"),
        (None, None, False, "mpi_memory_alloc_kinds says nothing (MPI 4.1 brings it)"),
    ],
)
def test_a_yes_is_believed_before_a_no(monkeypatch, kinds, number, aware, reason):
    lists(monkeypatch, kinds)
    answers(monkeypatch, number)
    monkeypatch.setenv("PATH", "")
    found = awareness.__wrapped__()
    assert (found.aware, found.reason) == (aware, reason)


BUILT = "mca:mpi:base:param:mpi_built_with_cuda_support:value:true"


@pytest.mark.parametrize(
    ("listed", "aware", "answer"),
    [
        (BUILT, True, "built with CUDA: yes, switched on: yes"),
        (BUILT.replace("true", "false"), False, "built with CUDA: no, switched on: no"),
        (
            f"{BUILT}\nmca:opal:base:param:opal_cuda_support:value:false", False,
            "built with CUDA: yes, switched on: no",
        ),
        (
            "mca:opal:base:param:opal_built_with_cuda_support:value:true\n"
            "mca:opal:base:param:opal_cuda_support:value:true", True,
            "built with CUDA: yes, switched on: yes",
        ),
    ],
)  # fmt: skip
def test_open_mpi_is_asked_where_it_lacks_the_function(
    monkeypatch, tmp_path, listed, aware, answer
):
    lists(monkeypatch, None)
    answers(monkeypatch, None)
    prints(monkeypatch, tmp_path, listed)
    found = awareness.__wrapped__()
    assert found.aware is aware
    assert found.clues[0] == Clue("ompi_info", answer, aware)


def test_a_command_that_fails_or_hangs_tells_nothing(monkeypatch, tmp_path):
    prints(monkeypatch, tmp_path, BUILT, code=1)
    assert detect.open_mpi_info() == Clue("ompi_info", "nothing (CalledProcessError)", None)

    def hangs(command, **_):
        raise subprocess.TimeoutExpired(command, 30)

    monkeypatch.setattr(subprocess, "run", hangs)
    assert detect.open_mpi_info() == Clue("ompi_info", "nothing (TimeoutExpired)", None)


@pytest.mark.parametrize("aware", [False, True])
def test_wishes(monkeypatch, aware):
    """What the program says goes before the environment, and that before the library."""
    clue = Clue("the library", "so", aware)
    monkeypatch.setattr(detect, "awareness", lambda: detect.Awareness(aware, (clue,)))
    monkeypatch.delenv(VARIABLE, raising=False)
    assert detect.takes_device_memory() is aware
    for text, wanted in {"": aware, "0": False, "1": True}.items():
        monkeypatch.setenv(VARIABLE, text)
        assert detect.takes_device_memory() is wanted
        assert detect.takes_device_memory(not wanted) is not wanted
    monkeypatch.setenv(VARIABLE, "require")
    if aware:
        assert detect.takes_device_memory()
    else:
        with pytest.raises(ValueError, match="does not take GPU memory: the library says so"):
            detect.takes_device_memory()


@pytest.mark.parametrize("text", ["yes", "2", "True", " 1", "Require"])
def test_values_that_mean_nothing_are_refused(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ValueError, match=f"COLLECTIVES_GPU_AWARE is '{text}', wants 0, 1 or req"):
        detect.takes_device_memory()
