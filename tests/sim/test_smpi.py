"""The simulator against SimGrid's SMPI, another simulator of MPI, on a crossbar.

``smpi_allreduce.c`` does by hand what the algorithms compared with it do. SMPI runs it on a cluster
in which every host has a full-duplex link to a switch that never blocks. It is told to be as plain
as the models here:

- ``network/model:CM02``: a message takes latency plus size over bandwidth, links that carry
  several are shared fairly. The factors that SMPI's own model has were fitted to one cluster.
- ``network/TCP-gamma:0``, ``network/weight-S:0``, ``network/crosstraffic:0``: no TCP window, no
  bias by round-trip time, no acknowledgements that take bandwidth from the way back.
- ``smpi/os``, ``smpi/or``, ``smpi/ois`` 0, ``smpi/wtime:0``, ``smpi/simulate-computation:no``:
  calls and computation take no time.
- ``smpi/send-is-detached-thresh:0``, ``smpi/async-small-thresh:0``: every send waits for its
  receive.

A route is two links long, so alpha is twice the latency of one. What is left is 16 bytes that SMPI
adds to every message for its envelope: less than the tolerance of 0.2 %.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from collectives import (
    allreduce_recursive_doubling,
    allreduce_reduce_bcast,
    allreduce_ring,
)
from collectives.sim import Cluster, Hockney, Link, Phantom, simulate

RANKS, LATENCY, BANDWIDTH = 8, 5e-6, 1e9
LENGTHS = (1_600, 16_000, 800_000)
TOLERANCE = 0.002

PLATFORM = f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="crossbar" prefix="node" suffix="" radical="0-{RANKS - 1}" speed="1Gf"
           bw="{BANDWIDTH:.0f}Bps" lat="{LATENCY}s" sharing_policy="SPLITDUPLEX"/>
</platform>
"""

SETTINGS = (
    "network/model:CM02", "network/TCP-gamma:0", "network/weight-S:0", "network/crosstraffic:0",
    "smpi/os:0:0:0", "smpi/or:0:0:0", "smpi/ois:0:0:0", "smpi/wtime:0",
    "smpi/simulate-computation:no", "smpi/send-is-detached-thresh:0", "smpi/async-small-thresh:0",
)  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("smpirun") is None or shutil.which("smpicc") is None,
        reason="needs SimGrid's smpirun and smpicc (Debian: libsimgrid-dev)",
    ),
]


@pytest.fixture(scope="module")
def smpi_times(tmp_path_factory):
    """Return what SMPI says, in seconds, by name and length."""
    folder = tmp_path_factory.mktemp("smpi")
    (folder / "crossbar.xml").write_text(PLATFORM)
    (folder / "hosts").write_text("".join(f"node{rank}\n" for rank in range(RANKS)))
    source, program = Path(__file__).with_name("smpi_allreduce.c"), folder / "allreduce"
    subprocess.run(["smpicc", "-O1", source, "-o", program], check=True, timeout=120)
    command = ["smpirun", "-np", RANKS, "-platform", "crossbar.xml", "-hostfile", "hosts"]
    command += [f"--cfg={setting}" for setting in SETTINGS]
    command += ["--log=root.thres:warning", program, *LENGTHS]
    ran = subprocess.run(
        [*map(str, command)], cwd=folder, check=True, capture_output=True, text=True, timeout=120
    )
    lines = re.findall(r"^(\w+) (\d+) ([\d.e+-]+)$", ran.stdout, flags=re.MULTILINE)
    return {(name, int(length)): float(seconds) for name, length, seconds in lines}


def fan_out(comm, vector, _):
    """Send all of `vector` from rank 0 to each of the others at once."""
    if comm.rank == 0:
        requests = [comm.Isend(vector, dest=dest) for dest in range(1, comm.size)]
        for request in requests:
            request.Wait()
    else:
        comm.Recv(vector, source=0)


ALGORITHMS = {
    "ring": allreduce_ring,
    "binomial": allreduce_reduce_bcast,
    "recursive_doubling": allreduce_recursive_doubling,
    "fan_out": fan_out,
}
HOCKNEY = Hockney(alpha=2 * LATENCY, beta=1 / BANDWIDTH)
CROSSBAR = Cluster(
    nodes=RANKS, ranks_per_node=1, intra=Link(0, BANDWIDTH), inter=Link(2 * LATENCY, BANDWIDTH)
)

COMPARED = [(name, CROSSBAR) for name in ALGORITHMS]
COMPARED += [
    (name, HOCKNEY) for name in ALGORITHMS if name != "fan_out"
]  # alpha holds a port there


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(
    ("name", "network"),
    COMPARED,
    ids=[f"{name}-{type(network).__name__}" for name, network in COMPARED],
)
def test_smpi_gives_the_same_time(smpi_times, name, network, length):
    def program(comm):
        ALGORITHMS[name](comm, Phantom(length), Phantom(length))

    took = simulate(program, RANKS, network=network).time
    assert took == pytest.approx(smpi_times[name, length], rel=TOLERANCE)
