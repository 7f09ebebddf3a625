"""What surrounds buffers on a device: where they are, what is missing, and how it is said."""

import ctypes
import inspect
import os
import pickle
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from collectives import allgather_ring, allreduce_ring
from collectives.gpu import GpuComm, OnDevice, at_hand, device_of, to_host, use_device
from collectives.gpu.cuda import Cuda
from collectives.gpu.stand_in import GPU, Stream
from collectives.sim import simulate

ROOT = Path(__file__).parents[2]


def run(*command, **variables):
    return subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, timeout=60,
        env=os.environ | variables,
    )  # fmt: skip


def missing():
    """Return what keeps a GPU from being used here; nothing where there is one."""
    try:
        at_hand("cuda")
    except ValueError as error:
        return str(error)
    return ""


without_gpu = pytest.mark.skipif(not missing(), reason="there is a GPU here")


def each_rank(program, p=3):
    return simulate(program, p).results


# ------------------------------------------------------------------ arrays that hide


def test_contents_do_not_get_to_the_host_by_accident():
    array = GPU.array(np.arange(4.0))
    conversions = (np.asarray, np.from_dlpack, float, list, bool, bytes, memoryview)
    for convert in (*conversions, lambda x: np.sum([x])):
        with pytest.raises((TypeError, ValueError, BufferError)):
            convert(array[:1])
    with pytest.raises(TypeError):
        np.add(array, np.ones(4), out=array)
    with pytest.raises(TypeError):
        np.add(np.ones(4), np.ones(4), out=array)
    with pytest.raises(TypeError):
        np.ones(4)[:] = array
    assert to_host(array + array).tolist() == [0, 2, 4, 6]


def test_pointers_lead_to_poison_until_the_stream_is_done():
    array = GPU.array(np.arange(4, dtype=np.uint8))
    other = np.empty_like(array)
    np.add(array, array, out=other)
    for each in (array, other):  # MPI must neither read the one nor write to the other
        assert (seen(each) == 0xDB).all()
    GPU.synchronize(other)
    assert seen(other).tolist() == [0, 2, 4, 6]


def test_streams_do_not_wait_for_each_other():
    array, stream = GPU.array(np.arange(4, dtype=np.uint8)), Stream()
    with GPU.on(stream):
        array[:] = array + array
    GPU.synchronize(array)  # the current stream, on which nothing was launched
    assert (seen(array) == 0xDB).all()
    stream.synchronize()
    assert seen(array).tolist() == [0, 2, 4, 6]


def test_mpi_is_led_where_the_pointer_leads():
    """By either of the two protocols that mpi4py asks for."""
    from mpi4py import MPI

    array = GPU.array(np.arange(4, dtype=np.uint8))
    start, _ = array[1:].__cuda_array_interface__["data"]
    assert MPI.buffer(array[1:]).address == start
    array[:] = array + array
    assert MPI.buffer(array).address not in (start, start - 1)
    with pytest.raises(BufferError):
        MPI.buffer(array[:0])


def seen(array):
    start, _ = array.__cuda_array_interface__["data"]
    return np.frombuffer((ctypes.c_ubyte * array.nbytes).from_address(start), array.dtype)


# ------------------------------------------------------------------ planted mistakes


def allreduce_through_the_host(comm, sendbuf, recvbuf, op=None):
    """Looks at the numbers on the way."""
    allreduce_ring(comm, sendbuf, recvbuf)
    recvbuf[:] = np.asarray(recvbuf)


def allreduce_with_scratch_on_the_host(comm, sendbuf, recvbuf, op=None):
    """Forgets that np.empty has no idea of devices."""
    partial = np.empty(sendbuf.size, sendbuf.dtype)
    partial[:] = sendbuf
    allreduce_ring(comm, partial, recvbuf)


def allreduce_with_scratch_on_another_device(comm, sendbuf, recvbuf, op=None):
    """Leaves the current device to chance."""
    GPU.use(1)
    try:
        partial = np.empty_like(sendbuf)
    finally:
        GPU.use(0)
    partial[:] = sendbuf
    allreduce_ring(comm, partial, recvbuf)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (allreduce_through_the_host, "implicit conversion"),
        (allreduce_with_scratch_on_the_host, "implicit conversion|Unsupported type"),
        (allreduce_with_scratch_on_another_device, "array device = 1 while current = 0"),
    ],
)
def test_a_planted_mistake_is_caught(mistake, message):
    """Each is right on NumPy's arrays, which is why nobody notices."""

    def program(comm, device):
        total = np.zeros(4)
        OnDevice(mistake, device)(comm, np.ones(4), total)
        return total.tolist()

    if mistake is not allreduce_with_scratch_on_another_device:
        assert each_rank(lambda comm: program(comm, "cpu")) == [[3.0] * 4] * 3
    with pytest.raises((TypeError, ValueError), match=message):
        each_rank(lambda comm: program(comm, "stand-in"))


def test_buffers_in_two_places_are_refused():
    def program(comm):
        allreduce_ring(comm, np.ones(3), GPU.array(np.zeros(3)))

    message = "sendbuf is on cpu device 0 and recvbuf on stand-in device 0, wants both on one"
    with pytest.raises(ValueError, match=message):
        each_rank(program)


def test_buffers_that_are_not_on_the_current_device_are_refused():
    mine, total = GPU.array(np.ones(3)), GPU.array(np.zeros(3))
    GPU.use(1)
    try:
        with pytest.raises(ValueError, match="are on stand-in device 0, the current device is 1"):
            each_rank(lambda comm: allreduce_ring(comm, mine, total))
    finally:
        GPU.use(0)


def test_arrays_derived_from_those_of_a_device_are_on_it():
    kind = type("Image", (type(GPU.array(np.zeros(3))),), {"__module__": "somewhere"})
    array = kind.empty(3, float)
    assert type(array[:2]) is kind
    assert device_of(array) is GPU


def test_arrays_of_an_unknown_kind_are_refused():
    kind = type("Tensor", (), {"__cuda_array_interface__": {}, "__module__": "torch"})
    with pytest.raises(ValueError, match=r"is a torch\.Tensor on a device, wants CuPy's"):
        device_of(kind())


# ------------------------------------------------------------------ moving buffers


def test_writes_outside_of_a_buffer_show_on_the_host():
    def writes_too_much(comm, sendbuf, recvbuf):
        DeviceArray = type(recvbuf)
        whole = DeviceArray(recvbuf.memory, recvbuf.memory.bytes.view(recvbuf.dtype))
        whole[0] = 7.0

    whole = np.zeros(10)
    OnDevice(writes_too_much, "stand-in")(None, np.ones(4), whole[3:7])
    assert whole.tolist() == [7.0, *[0.0] * 9]


def test_what_is_sent_may_be_read_only():
    """Devices have no such arrays, so that a write to one shows only afterwards."""

    def doubles(comm, sendbuf, recvbuf):
        recvbuf[:] = sendbuf + sendbuf

    def spoils(comm, sendbuf, recvbuf):
        sendbuf[:] = recvbuf

    mine, total = np.ones(4), np.zeros(4)
    mine.flags.writeable = False
    OnDevice(doubles, "stand-in")(None, mine, total)
    assert total.tolist() == [2.0] * 4
    OnDevice(doubles, "stand-in")(None, sendbuf=mine, recvbuf=total)
    with pytest.raises(ValueError, match="read-only array was written to on the device"):
        OnDevice(spoils, "stand-in")(None, mine, total)


def test_a_result_that_is_read_only_is_refused():
    def program(comm):
        total = np.zeros(4)
        total.flags.writeable = False
        OnDevice(allreduce_ring, "stand-in")(comm, np.ones(4), total)

    with pytest.raises(ValueError, match="recvbuf is a read-only float64"):
        each_rank(program)


def test_the_function_behind_is_seen():
    there = OnDevice(allgather_ring, "stand-in")
    assert "counts" in inspect.signature(there).parameters
    assert pickle.loads(pickle.dumps(there)) == there


def test_host_buffers_pass_through_untouched():
    def program(comm):
        total = np.zeros(3)
        allreduce_ring(GpuComm(comm, aware=False), np.ones(3), total)
        return total.tolist()

    assert each_rank(program) == [[3.0] * 3] * 3


def test_simulated_ranks_share_the_first_device():
    assert each_rank(lambda comm: use_device(GPU, comm)) == [0, 0, 0]


# ------------------------------------------------------------------ what is missing


def test_importing_the_package_never_imports_cupy():
    code = """
import pkgutil, sys, importlib, collectives
list(collectives.registry.algorithms())
for module in pkgutil.walk_packages(collectives.__path__, "collectives."):
    if "rank" not in module.name and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
assert "collectives.gpu.devices" in sys.modules
print([name for name in sys.modules if name.startswith("cupy")])
"""
    done = run("-c", code)
    assert done.stdout == "[]\n", done.stderr


@without_gpu
@pytest.mark.parametrize(
    "command",
    [
        ["run", "allreduce", "ring", "--device", "cuda"],
        ["trace", "allreduce", "ring", "--device", "cuda"],
        ["check", "allreduce", "ring", "--device", "cuda"],
        ["bench", "allreduce", "--device", "cuda"],
        ["check", "allreduce", "--target", "nccl"],
    ],
    ids=" ".join,
)
def test_what_is_missing_is_said_in_one_sentence(command):
    done = run("-m", "collectives", *command)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"collectives: {missing()}\n"


@without_gpu
def test_a_package_that_is_not_there_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ValueError, match=r'pip install "collectives\[gpu-cuda12\]"'):
        Cuda()


def test_a_package_that_does_not_load_says_why(monkeypatch, tmp_path):
    """CuPy tells it in a page of advice, around the error."""
    (tmp_path / "cupy.py").write_text(
        "try:\n    raise OSError('libcudart.so.12: no such file')\n"
        "except OSError as error:\n    raise ImportError('=====\\nFailed to import') from error\n"
    )
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=r"^CuPy does not load: libcudart.so.12: no such file$"):
        Cuda()


def test_a_package_without_a_compiler_says_how_to_get_it(cuda, monkeypatch):
    def absent():
        raise RuntimeError("no libnvrtc.so.12\nanywhere")

    monkeypatch.setattr(cuda.cupy.cuda.nvrtc, "getVersion", absent)
    message = r'no compiler for kernels \(no libnvrtc.so.12\): pip install "cupy-cuda12x\[ctk\]"'
    with pytest.raises(ValueError, match=message):
        at_hand("cuda")


def test_a_machine_without_a_device_says_so(cuda, monkeypatch):
    monkeypatch.setattr(cuda.cupy.cuda.runtime, "getDeviceCount", lambda: 0)
    with pytest.raises(ValueError, match=r"finds no GPU$"):
        at_hand("cuda")


def test_parts_that_are_not_contiguous_reach_the_host(cuda):
    array = cuda.array(np.arange(6.0))
    array[:] = array + array
    assert to_host(array[::2]).tolist() == [0.0, 4.0, 8.0]


def test_types_that_the_device_lacks(cuda):
    lacks = [">f8", "g", "G", "M8[s]", "V4,f4"]
    assert [cuda.has(np.dtype(name)) for name in lacks] == [False] * len(lacks)
    assert all(cuda.has(np.dtype(name)) for name in "?bBhHiIlLefdFD")
    with pytest.raises(ValueError, match=r"CuPy 14 .* has no >f8"):
        cuda.array(np.zeros(3, ">f8"))


@without_gpu
def test_the_script_for_gpus_says_what_is_missing():
    done = run(ROOT / "scripts/check_gpu")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"check_gpu: {missing()}\n"


def test_a_fault_on_a_device_can_be_asked_for_again(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def allreduce(comm, sendbuf, recvbuf, op=None):\n    recvbuf[:] = sendbuf\n")
    name = f"{file}:allreduce"
    done = run("-m", "collectives", "check", "allreduce", name, "--device", "stand-in", "--quick")
    assert done.returncode == 1
    (again, *_) = re.findall(r"again: collectives (.*)", done.stdout)
    assert f"check allreduce {name} --device stand-in --case" in again
    assert run("-m", "collectives", *shlex.split(again)).returncode == 1


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ("yes", "COLLECTIVES_GPU_AWARE is 'yes', wants 0, 1 or require"),
        ("require", "does not take GPU memory"),
    ],
)
def test_a_wish_that_cannot_be_met_is_an_error_before_anything_runs(wish, message):
    command = ["mpirun", "-n", "2", sys.executable, "-m", "collectives"]
    for arguments in (["gpu"], ["run", "allreduce", "ring", "--device", "stand-in"]):
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=60,
            env=os.environ | {"COLLECTIVES_GPU_AWARE": wish},
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
        assert "Traceback" not in done.stderr


@without_gpu
def test_the_report_is_true_here():
    done = run("-m", "collectives", "gpu")
    assert done.returncode == 0, done.stderr
    assert "does not take GPU memory" in done.stdout
    assert "MPIX_Query_cuda_support: 0" in done.stdout
    assert "COLLECTIVES_GPU_AWARE: not set" in done.stdout
    assert missing() in done.stdout
    assert "Arrays on a GPU are handed to MPI through pinned host memory" in done.stdout
    assert "conda env create -f environment.yml" in done.stdout
    required = run("-m", "collectives", "gpu", "--require-gpu-aware")
    assert required.returncode == 2
    assert required.stderr.count("\n") == 1
