"""GPU-aware MPI: what has to happen before MPI may send what a GPU has computed.

mpirun -n 8 python lessons/gpu_aware.py        on 8 MPI ranks
python lessons/gpu_aware.py                    on 8 simulated ranks, without MPI
"""

import argparse
import ctypes
import sys
import warnings

import numpy as np

from collectives import find
from collectives.comm import is_private, private
from collectives.draw import text
from collectives.gpu import GpuComm, at_hand, to_host, use_device
from collectives.gpu.detect import takes_device_memory
from collectives.reference import fold
from collectives.teach import runs
from collectives.teach.lesson import Check, main
from collectives.teach.prediction import Prediction

RING = find("allreduce", "ring")
BUS = 25e9
"""Bytes per second between host and GPU, about that of PCI Express 4.0 x16."""

QUESTION = """
A vector lies in the memory of a GPU, and a kernel that writes to it may still be running. What has
to happen before MPI may send it, and what does it cost where MPI cannot read that memory?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        f"In a ring all-reduce of {p} ranks, how many copies between GPU and host does a rank "
        "make where MPI cannot read the memory of the GPU?"
    ),
    answer=lambda world, options: world.results[0]["staged"]["copies"],
    unit="copies",
)

NEXT = [
    ("--elements 8", "as many copies, for a few bytes"),
    ("collectives gpu", "what there is on this machine, and what is missing"),
    ("collectives check allreduce ring --device stand-in", "or any function of yours"),
    ("ring_allreduce", "what the messages are"),
]


def flags(parser):
    parser.add_argument(
        "--device", dest="wanted", type=device_name, default="auto",
        help="where vectors are: cuda, stand-in for a GPU, or auto, which is cuda if it is there",
    )  # fmt: skip


def device_name(name):
    """Return the name of a device that is there."""
    try:
        return name if name == "auto" else at_hand(name).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def device_for(options):
    """Return the device to use, and why it is not a GPU, if it is not."""
    try:
        return at_hand("cuda" if options.wanted == "auto" else options.wanted), ""
    except ValueError as missing:
        return at_hand("stand-in"), str(missing)


def measure(comm, options):
    """Run the same ring three ways, right after a kernel was launched that makes the input."""
    warnings.filterwarnings("ignore", "MPI|Open MPI|MPICH")  # the report says what staging costs
    device, missing = device_for(options)
    use_device(device, comm)
    pretend, simulated = device.name == "stand-in", not hasattr(comm, "Allreduce")
    under = Pointers(comm) if pretend else comm

    ways = {"staged": GpuComm(under, aware=False)}
    if pretend or simulated or takes_device_memory():
        ways["direct"] = GpuComm(under, aware=True)
    if pretend:  # on a GPU what MPI reads then is left to chance
        ways["forgotten"] = under
    right = wide(fold([runs.vector(rank, options) for rank in range(comm.size)]))
    seen = {"part": runs.recorded(comm, RING), "device": device.name, "missing": missing}
    for name, way in ways.items():
        mine = device.array(runs.vector(comm.rank, options))
        total = np.empty_like(mine)
        mine[:] = mine + 0  # a kernel is launched, and may still be running
        RING.function(way, mine, total)
        wrong = np.abs(wide(to_host(total)) - right) > comm.size * 1e-2 * np.abs(right)
        seen[name] = {"wrong": int(np.sum(wrong)), "waits": 0, "copies": 0, "nbytes": 0}
        seen[name] |= dict(getattr(way, "tally", {}))
    return seen


def wide(numbers):
    return runs.widened(numbers).astype(np.complex128)


class Pointers:
    """A communicator to which arrays on the stand-in are pointers, and no more."""

    takes_devices = True

    def __init__(self, comm):
        self.comm, self.rank, self.size = comm, comm.rank, comm.size

    def __getattr__(self, name):
        return getattr(self.comm, name)

    @property
    def is_private(self):
        return is_private(self.comm)

    def private(self):
        return Pointers(private(self.comm))

    def Sendrecv(self, sendbuf, dest, sendtag=0, recvbuf=None, **options):
        there, back = led_to(sendbuf), led_to(recvbuf)
        self.comm.Sendrecv(there, dest, sendtag, recvbuf=back, **options)


def led_to(array):
    """Return the memory that MPI finds when it follows the pointer of an array."""
    if isinstance(array, np.ndarray):
        return array
    start, _ = array.__cuda_array_interface__["data"]
    memory = (ctypes.c_ubyte * array.nbytes).from_address(start) if start else bytearray()
    return np.frombuffer(memory, array.dtype)


# ------------------------------------------------------------------ what was found

EXPLAINED = {
    "forgotten": "hands over the pointer at once",
    "direct": "waits for the stream first",
    "staged": "copies to the host, and back",
}


def report(world, options):
    """Yield what rank 0 prints."""
    p, first = world.size, world.results[0]
    if first["device"] == "stand-in":
        yield "\ndevice no GPU: arrays in host memory that hide it, poison while kernels run"
        if first["missing"]:
            yield f"       ({first['missing'].partition(':')[0]})"
    else:
        yield "\ndevice a GPU, through CuPy"
    yield f"""
idea   A kernel is launched and the program goes on. MPI knows nothing of kernels: whoever calls
       it waits for the stream first. An MPI library that is not GPU-aware cannot follow the pointer
       at all: the vector is staged, through host memory. The algorithm is the same line for line.

       {"rank 0":10}{"waits":>7}{"copies":>8}{"moved":>10}{"wrong elements":>16}"""
    for name, words in EXPLAINED.items():
        if name in first:
            row = first[name]
            yield (
                f"       {name:10}{row['waits']:7}{row['copies']:8}"
                f"{text.nbytes(row['nbytes']):>10}{row['wrong']:16}   {words}"
            )
    if "direct" not in first:
        yield "       (direct is left out: this MPI library does not take GPU memory)"
    yield ""
    yield from checks(world, options)
    staged, size = first["staged"], options.elements * options.dtype.itemsize
    moved = 4 * (p - 1) / p * size
    yield f"""
bytes  counted {text.nbytes(staged["nbytes"])} between GPU and host, S = {text.nbytes(size)}
       formula {text.nbytes(moved)} = 4(p-1)/p S: what is sent, and what arrives
time   formula {text.seconds(moved / BUS)} at {text.nbytes(BUS)}/s, before the network's own

limit  of few bytes a copy costs its start and not its bytes, and so does a wait
use    the wheels of MPICH and Open MPI take no GPU memory; conda-forge's Open MPI with UCX does"""


def checks(world, options):
    """Check results and counts on all ranks."""
    p, rows = world.size, world.results
    for name in ("direct", "staged"):
        if name in rows[0]:
            wrong = sum(row[name]["wrong"] for row in rows)
            yield Check(name, not wrong, f"{wrong} wrong elements on all ranks together")
    if "forgotten" in rows[0] and p > 1 and options.elements:
        caught = all(row["forgotten"]["wrong"] for row in rows)
        yield Check("forgotten", caught, "every rank that did not wait has wrong elements")
    messages = 2 * (p - 1)
    copies = {row["staged"]["copies"] for row in rows}
    yield Check("copies", copies == {2 * messages}, f"2 for each of {messages} messages")
    if "direct" in rows[0]:
        found = {(row["direct"]["copies"], row["direct"]["waits"]) for row in rows}
        yield Check(
            "waits",
            found == {(0, 2 * messages)},
            "direct: no copy; 1 wait for each buffer handed over",
        )


def svg(world, options):
    """Return the figure: who is in which block, step by step."""
    from collectives.draw.figures import contribution_grid

    return contribution_grid(html(world, options)[0])


def html(world, options):
    """Return the run to step through."""
    return [runs.recording(world, RING, [row["part"] for row in world.results])]


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT, elements=100_000, flags=flags,
            device=False,  # it has one of its own, with more to choose from
        )
    )  # fmt: skip
