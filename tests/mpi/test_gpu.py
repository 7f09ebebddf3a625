"""On the stand-in GPU, under real MPI: every algorithm and every built-in, direct and staged.

Direct, MPI is handed pointers, and finds poison where a stream was not synchronised. Staged, it is
handed copies.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from collectives import IN_PLACE, MAX, SUM, Op, UnsupportedError, allreduce_ring, find
from collectives.comm import Array, Subgroup, private
from collectives.gpu import GpuComm, OnDevice, staging, use_device
from collectives.gpu.detect import VARIABLE, awareness
from collectives.gpu.stand_in import GPU
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.differences import difference
from collectives.oracle.grids import grid, one_per_size
from collectives.oracle.payloads import AFFINE, UINT64, exact
from collectives.registry import Algorithm, algorithms
from collectives.tracing import Trace

pytestmark = [pytest.mark.mpi, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

FEW = 3
"""Ranks up to which everything is tried."""

GCD = Op("GCD", np.gcd)
each = pytest.mark.parametrize("entry", [*algorithms()], ids=str)


@pytest.fixture(params=["direct", "staged"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """How buffers get to MPI: as pointers, or through the host."""
    monkeypatch.setenv(VARIABLE, str(int(request.param == "direct")))
    monkeypatch.setattr(GPU, "lazy", True)
    yield request.param
    for stream in GPU.streams:
        stream.synchronize()


@lru_cache(maxsize=512)
def known(case: Case, dtype: np.dtype[Any]) -> tuple[list[Array], list[Array | None]]:
    """Return what the ranks bring and what they must get."""
    inputs = exact(case, dtype)
    return inputs, case.expected(inputs)


def faults(
    entry: Algorithm, comm: Any, case: Case, dtype: np.dtype[Any] = UINT64, op: Any = None
) -> Iterator[str]:
    """Run `entry` on buffers on the device and yield what is wrong."""
    inputs, wanted = known(case, dtype)
    buffers = Buffers(case, comm.rank, inputs[comm.rank])
    given = {"op": op} if op is not None else {}

    def function(comm: Any, *there: Any, **options: Any) -> None:
        entry.function(comm, *there, **options | given)

    try:
        got = buffers.run(OnDevice(function, GPU.name), comm)
    except UnsupportedError:  # on all ranks alike
        return
    found = [difference(case, comm.rank, got, wanted[comm.rank])]
    # Which parts of recvbuf MPI works in, in place, is left open (MPI 4.1, section 6.10).
    loose = str(entry) == "reduce_scatter/builtin" and case.in_place
    found += [] if loose else buffers.violations()
    yield from (f"{entry} {case} {dtype}: {text}" for text in found if text)


def cases(entry: Algorithm, p: int) -> Iterator[Case]:
    """Yield one call of every kind: in place and not, uneven, on nothing, other options.

    With many ranks a third of them, another one for every p.
    """
    (plain,) = one_per_size(entry.collective, [p])
    *_, uneven = grid(entry.collective, [p])
    others = [uneven, replace(plain, n=0)]
    if not plain.form.one_buffer and not plain.form.on_grid:
        others.append(replace(plain, in_place=True))
    others += [replace(plain, chosen=tuple(chosen.items())) for chosen in entry.variants]
    yield from dict.fromkeys([plain, *(others if p <= FEW else others[p % 3 :: 3])])


def is_known_bug(entry: Algorithm, case: Case) -> bool:
    """Tell whether Open MPI is wrong here on the host too; `test_agreement` names the bug."""
    from mpi4py import MPI

    vendor, version = MPI.get_vendor()
    twice = case.form.on_grid and min(case.torus["dims"]) <= 2
    old = vendor == "Open MPI" and version <= (5, 0, 11)
    return old and str(entry) == "neighbor_alltoall/builtin" and twice and bool(case.chosen)


@each
def test_every_algorithm(entry: Algorithm, world: Any, way: str, agree: Any) -> None:
    agree(
        fault
        for case in cases(entry, world.size)
        if not is_known_bug(entry, case)
        for fault in faults(entry, world, case)
    )


@each
def test_where_nothing_waits(
    entry: Algorithm, world: Any, agree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a device that does at once what it is told."""
    monkeypatch.setenv(VARIABLE, "1")
    if world.size > FEW:
        pytest.skip("few ranks show it")
    (plain,) = one_per_size(entry.collective, [world.size])
    agree(faults(entry, world, plain))


REDUCING = [
    find(collective, name)
    for collective, names in {
        "allreduce": ("ring", "recursive_doubling", "builtin"), "scan": ("linear", "builtin"),
        "reduce_scatter": ("ring", "builtin"),
    }.items()
    for name in names
]  # fmt: skip


@pytest.mark.parametrize("entry", REDUCING, ids=str)
def test_types_and_operations(entry: Algorithm, world: Any, way: str, agree: Any) -> None:
    """Narrow and complex numbers; operations made here, and by MPI, which combine on the host."""
    from mpi4py import MPI

    ml_dtypes = pytest.importorskip("ml_dtypes")
    (plain,) = one_per_size(entry.collective, [world.size])
    found = []
    for kind in (np.float16, ml_dtypes.bfloat16, np.complex64, np.int32):
        found += faults(entry, world, plain, np.dtype(kind))
    for op in (MAX, GCD, AFFINE):
        found += faults(entry, world, replace(plain, op=op))

    def combine(lower: Any, higher: Any, _datatype: Any) -> None:
        result = np.frombuffer(higher, UINT64)
        result[:] = np.gcd(np.frombuffer(lower, UINT64), result)

    made = MPI.Op.Create(combine, commute=True)
    found += faults(entry, world, replace(plain, op=GCD), op=made)
    made.Free()
    agree(found)


# --------------------------------------------------------------- around the algorithms


def test_nothing_is_copied_behind_the_back(world: Any, way: str, agree: Any) -> None:
    """Direct, contents never leave the device; staged, two copies for every message."""
    mine, total = (GPU.array(np.ones(4 * world.size)) for _ in range(2))
    private(world)
    before = GPU.copies
    allreduce_ring(world, mine, total)
    messages = 2 * (world.size - 1)
    wanted = 0 if way == "direct" else 2 * messages
    copied = GPU.copies - before
    agree([f"{copied} copies, wants {wanted}"] * (copied != wanted))


def test_python_never_reads_device_memory(world: Any, agree: Any, way: str) -> None:
    """Built-ins that combine by a function in Python go through the host, direct or not."""
    mine, total = GPU.array(np.ones(4, UINT64)), GPU.array(np.ones(4, UINT64))
    comm = GpuComm(world)
    find("allreduce", "builtin").function(comm, mine, total, op=GCD)
    wanted = {"copies": 2, "nbytes": 64, "waits": 1}
    agree([f"{dict(comm.tally)}, wants {wanted}"] * (dict(comm.tally) != wanted))


def test_traces_are_those_of_host_arrays(world: Any, way: str, agree: Any) -> None:
    """The same messages from the same source lines, whichever of the wrappers is outside."""
    seen = []
    for move, wrap in ((np.copy, lambda c: c), (GPU.array, lambda c: c), (GPU.array, GpuComm)):
        trace = Trace(keep=True)
        mine, total = move(np.arange(12.0)), move(np.zeros(12))
        allreduce_ring(trace.comm(wrap(world)), mine, total, op=trace.op(SUM, world))
        seen.append(
            [(e.kind, e.peer, e.nbytes, e.file, e.line, e.payload.tolist()) for e in trace.events]
        )
    agree(f"way {i} is traced differently" for i in (1, 2) if seen[i] != seen[0])


def test_messages_of_ones_own(world: Any, way: str, agree: Any) -> None:
    """Every way to send and receive; a message shorter than its buffer leaves the rest alone."""
    comm = GpuComm(world)
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    mine = GPU.array(np.full(3, float(comm.rank)))

    def room() -> Any:
        return GPU.array(np.full(5, -1.0))

    arrived = {name: room() for name in ("Sendrecv", "Irecv", "Isend", "replace", "part")}
    comm.Sendrecv(mine, right, recvbuf=arrived["Sendrecv"], source=left)
    request = comm.Irecv(arrived["Irecv"], left)
    comm.Send(mine, dest=right)
    request.Wait()
    requests = [comm.Irecv(arrived["Isend"], source=left), comm.Isend(mine, right)]
    for request in requests:
        request.Wait()
    arrived["replace"][:3] = mine
    comm.Sendrecv_replace(arrived["replace"][:3], dest=right, source=left)
    request = comm.Irecv([arrived["part"], 3], source=left)
    comm.Ssend(mine, dest=right)
    request.Wait()
    wanted = [left] * 3 + [-1.0] * 2
    got = {name: on_host(array) for name, array in arrived.items()}
    agree(
        f"{name} got {values}, wants {wanted}" for name, values in got.items() if values != wanted
    )


def test_a_status_is_filled(world: Any, way: str, agree: Any) -> None:
    """Wherever it stands among the arguments, and after Test as after Wait."""
    from mpi4py import MPI

    comm = GpuComm(world)
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    mine, room = GPU.array(np.full(3, float(comm.rank))), GPU.array(np.zeros(5))
    statuses = [MPI.Status() for _ in range(3)]
    comm.Sendrecv(mine, right, 7, room, left, 7, statuses[0])
    request = comm.Isend(mine, right, 8)
    comm.Recv(room, left, 8, statuses[1])
    request.Wait()
    requests = [comm.Irecv(room, left, 9), comm.Isend(mine, right, 9)]
    while not requests[0].Test(statuses[2]):
        pass
    requests[1].Wait()
    got = [(s.source, s.tag, s.Get_count(MPI.DOUBLE)) for s in statuses]
    wanted = [(left, tag, 3) for tag in (7, 8, 9)]
    values = on_host(room)
    agree(
        f"got {got} {values}, wants {wanted}"
        for _ in [0]
        if (got, values) != (wanted, [left] * 3 + [0.0] * 2)
    )


def test_a_rank_that_is_left_out_gets_no_communicator(world: Any, agree: Any) -> None:
    from mpi4py import MPI

    part = GpuComm(world).Split(0 if world.rank == 0 else MPI.UNDEFINED)
    wanted = GpuComm if world.rank == 0 else type(MPI.COMM_NULL)
    right = isinstance(part, wanted) and bool(part) == (world.rank == 0)
    agree([] if right else [f"got {part}"])


def test_communicators_of_a_gpu_communicator(world: Any, way: str, agree: Any) -> None:
    """Duplicates, parts, grids and groups of it take device buffers too."""
    comm = GpuComm(world)
    half = comm.Split(color=comm.rank % 2)
    grid = half.Create_cart([half.size], periods=[True])
    ranks = range(comm.rank % 2, comm.size, 2)
    found = []
    for name, part in {
        "dup": half.Dup(), "split": half, "cart": grid, "subgroup": Subgroup(private(comm), ranks),
    }.items():  # fmt: skip
        total = GPU.array(np.full(2 * part.size, comm.rank + 1.0))
        allreduce_ring(part, IN_PLACE, total) if name != "subgroup" else ring(part, total)
        wanted = float(sum(rank + 1 for rank in ranks))
        if set(on_host(total)) != {wanted}:
            found.append(f"{name} got {on_host(total)}, wants {wanted}")
    mine, neighbour = GPU.array(np.zeros(1)), GPU.array(np.zeros(2))
    mine[:] = float(grid.rank)
    grid.Neighbor_allgather(mine, neighbour)
    wanted_pair = [(grid.rank - 1) % grid.size, (grid.rank + 1) % grid.size]
    found += [f"neighbours {on_host(neighbour)}"] * (on_host(neighbour) != wanted_pair)
    agree(found)


def ring(part: Subgroup, total: Any) -> None:
    """Run a body on a group, as algorithms do inside others."""
    allreduce_ring(part, total, total, op=SUM)


def on_host(array: Any) -> list[float]:
    host = np.empty(array.shape, array.dtype)
    GPU.fetch(array, host)
    return host.tolist()


def test_a_persistent_call_sends_what_is_there_when_it_starts(
    world: Any, way: str, agree: Any
) -> None:
    mine, total = GPU.array(np.zeros(3)), GPU.array(np.zeros(3))
    request = GpuComm(world).Allreduce_init(mine, total)
    found = []
    for value in (1.0, 2.0):
        mine[:] = value
        request.Start()
        request.Wait()
        found += [f"got {on_host(total)}"] * (on_host(total) != [value * world.size] * 3)
    request.Free()
    agree(found)


def test_what_is_not_known_is_refused(world: Any, way: str, agree: Any) -> None:
    """Rather than handing a library pointers that it cannot follow."""
    comm, mine = GpuComm(world), GPU.array(np.zeros(3))
    with pytest.raises(ValueError, match="Bsend is not passed on with buffers on a device"):
        comm.Bsend(mine, dest=comm.rank)
    agree([])


# --------------------------------------------------------------- planted mistakes


def ring_faults(world: Any) -> list[str]:
    case = Case("allreduce", world.size, 3 * world.size)
    return [*faults(find("allreduce", "ring"), world, case)]


def test_a_forgotten_synchronisation_is_caught(
    world: Any, agree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every rank, in every run: MPI reads poison."""
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setattr(GPU, "lazy", True)
    monkeypatch.setattr(GPU, "synchronize", lambda array: None)
    found = ring_faults(world)
    monkeypatch.undo()
    agree(["nothing is found"] * (not found and world.size > 1))


def test_a_hidden_copy_to_the_host_is_caught(
    world: Any, agree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results are right, but contents have left the device: the count of copies shows it."""
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setattr("collectives.gpu.comm.takes_device_memory", lambda wish: False)
    before = GPU.copies
    found = ring_faults(world)
    own = 2 + 2  # of OnDevice: two buffers there and back
    hidden = GPU.copies - before - own
    agree([*found, *["no copy was counted"] * (not hidden and world.size > 1)])


# --------------------------------------------------------------- what MPI takes


def test_the_library_here_takes_no_device_memory(world: Any, agree: Any) -> None:
    """True of the wheels of MPICH and Open MPI that these tests run on."""
    found = awareness()
    agree([f"found {found}"] * found.aware)


def test_required_and_not_there_is_an_error(
    world: Any, agree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=r"does not take GPU memory: \S+ says "):
        GpuComm(world, aware="require")
    monkeypatch.setenv(VARIABLE, "require")
    mine = GPU.array(np.zeros(3))
    with pytest.raises(ValueError, match="does not take GPU memory"):
        allreduce_ring(world, mine, mine.copy())
    monkeypatch.setenv(VARIABLE, "yes")
    with pytest.raises(ValueError, match="is 'yes', wants 0, 1 or require"):
        GpuComm(world)
    agree([])


def test_staging_is_said_once_in_a_job(
    world: Any, agree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By rank 0, at the line that called, with the cost."""
    monkeypatch.setenv(VARIABLE, "0")
    monkeypatch.setattr(staging, "_SAID", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            mine = GPU.array(np.zeros(2 * world.size))
            find("allreduce", "builtin").function(world, mine, mine.copy())
    texts = [(str(w.message), w.filename) for w in caught]
    here = [file == __file__ and "two copies" in text for text, file in texts]
    agree([f"warned {texts}"] * (here != [True] * (world.rank == 0)))


def test_ranks_take_devices_in_turns(world: Any, agree: Any) -> None:
    number = use_device(GPU, world)
    GPU.use(0)
    numbers = world.allgather(number)
    wanted = [rank % GPU.count() for rank in range(world.size)]
    agree([f"devices are {numbers}, wants {wanted}"] * (numbers != wanted))
