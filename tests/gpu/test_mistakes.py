"""Mistakes in handing device buffers to MPI, planted: each is wrong in every run.

A probe is a small program whose outcome is known. It finds nothing as the code is, and something
with the mistake. MPI here is one rank that sends to itself.
"""

from contextlib import contextmanager

import numpy as np
import pytest
from mpi4py import MPI

from collectives.gpu import GpuComm, stand_in
from collectives.gpu import comm as gpu_comm
from collectives.gpu import request as gpu_request
from collectives.gpu.cuda import Cuda
from collectives.gpu.request import GpuRequest
from collectives.gpu.staging import Loan
from collectives.gpu.stand_in import GPU

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(autouse=True)
def late(monkeypatch):
    monkeypatch.setattr(GPU, "lazy", True)
    monkeypatch.setattr(GPU, "streams", [stand_in.Stream(), stand_in.Stream()])


def there(*values):
    return GPU.array(np.array(values, float))


def seen(array):
    """Return what is in an array when all that was launched on the current stream is done."""
    host = np.empty(array.shape, array.dtype)
    GPU.fetch(array, host)
    return host.tolist()


def differ(**outcomes):
    """Return what is not as it should be, of ``name=(got, wanted)``."""
    return [f"{name}: {got}, wants {want}" for name, (got, want) in outcomes.items() if got != want]


# ------------------------------------------------------------------ probes


def sends_what_was_computed(comm):
    mine, got = there(1, 2), there(0, 0)
    mine[:] = mine + mine
    comm.Sendrecv(mine, 0, recvbuf=got, source=0)
    return differ(got=(seen(got), [2, 4]))


def replaces_what_was_computed(comm):
    mine, got = there(1, 2), there(0, 0)
    requests = [comm.Irecv(got, 0, 1), comm.Isend(there(3, 4), 0, 2)]
    mine[:] = mine + mine
    comm.Sendrecv_replace(mine, 0, 1, 0, 2)
    for request in requests:
        request.Wait()
    return differ(got=(seen(got), [2, 4]), mine=(seen(mine), [3, 4]))


def leaves_what_is_read_alone(comm):
    """A kernel reads the buffer that the message is received into."""
    mine, room, saved = there(1, 2), there(3, 4), there(0, 0)
    request = comm.Isend(mine, 0)
    saved[:] = room
    comm.Recv(room, 0)
    request.Wait()
    return differ(saved=(seen(saved), [3, 4]), room=(seen(room), [1, 2]))


def starts_after_the_stream_of_then(comm):
    """The kernel runs on the stream that is current at Irecv; at Wait it is another one."""
    mine, room, saved, stream = there(1, 2), there(3, 4), there(0, 0), stand_in.Stream()
    with GPU.on(stream):
        saved[:] = room
        request = comm.Irecv(room, 0)
    comm.Send(mine, 0)
    request.Wait()
    stream.synchronize()
    return differ(saved=(seen(saved), [3, 4]), room=(seen(room), [1, 2]))


def sums_after_the_stream_of_then(comm):
    """What is summed lies on the host, so that it is fetched from no stream."""
    room, saved, stream = there(3, 4), there(0, 0), stand_in.Stream()
    with GPU.on(stream):
        saved[:] = room
        request = comm.Iallreduce(np.array([1.0, 2.0]), room)
    request.Wait()
    stream.synchronize()
    return differ(saved=(seen(saved), [3, 4]), room=(seen(room), [1, 2]))


def waits_for_the_current_stream(comm):
    mine, got = there(1, 2), there(0, 0)
    with GPU.on(stand_in.Stream()):
        mine[:] = mine + mine
        comm.Sendrecv(mine, 0, recvbuf=got, source=0)
    return differ(got=(seen(got), [2, 4]))


def waits_on_the_device_of_the_array(comm):
    """The array is on device 1, and device 0 is the current one."""
    GPU.use(1)
    mine, got = there(1, 2), there(0, 0)
    mine[:] = mine + mine
    GPU.use(0)
    comm.Sendrecv(mine, 0, recvbuf=got, source=0)
    return differ(got=(seen(got), [2, 4]))


def starts_on_what_is_there(comm):
    mine, total = there(1, 2), there(0, 0)
    request = comm.Allreduce_init(mine, total)
    mine[:] = mine + mine
    request.Start()
    request.Wait()
    request.Free()
    return differ(total=(seen(total), [2, 4]))


def leaves_the_rest_alone(comm):
    room = [there(3, 4, 5) for _ in range(2)]
    request = comm.Irecv(room[0], 0)
    comm.Send(there(1, 2), 0)
    request.Wait()
    request = comm.Isend(there(1, 2), 0)
    comm.Recv(room[1], 0)
    request.Wait()
    return differ(irecv=(seen(room[0]), [1, 2, 5]), recv=(seen(room[1]), [1, 2, 5]))


def polls_until_it_is_there(comm):
    room = there(3, 4)
    request = comm.Irecv(room, 0)
    early = request.Test()
    comm.Send(there(1, 2), 0)
    while not request.Test():
        pass
    request.Wait()
    return differ(early=(early, False), room=(seen(room), [1, 2]))


def ends_once(comm):
    """To wait for what has ended does nothing."""
    room = there(3, 4)
    request = comm.Iallreduce(there(1, 2), room)
    request.Wait()
    room[:] = room + room
    request.Wait()
    return differ(room=(seen(room), [2, 4]))


def gives_up(comm):
    room = there(3, 4)
    request = comm.Irecv(room, 0)
    request.Cancel()
    request.Wait()
    return differ(room=(seen(room), [3, 4]))


def keeps_what_it_lent(comm):
    """A request that is freed while MPI works on a copy would take the copy away."""
    room = there(0, 0)
    request = comm.Isend(there(1, 2), 0)
    freed = True
    try:
        request.Free()
    except ValueError:
        freed = False
    comm.Recv(room, 0)
    if not freed:
        request.Wait()
    return differ(freed=(freed, False), room=(seen(room), [1, 2]))


def waits_in_any_order(comm):
    rooms, sends = [there(0), there(0)], []
    receives = [comm.Irecv(room, 0, tag) for tag, room in enumerate(rooms)]
    for tag in (1, 0):
        sends.append(comm.Isend(there(tag), 0, tag))
    for request in (*reversed(receives), *sends):
        request.Wait()
    return differ(rooms=([seen(room) for room in rooms], [[0], [1]]))


def leaves_parts_alone(comm):
    """Exscan writes nothing on rank 0, and a gather with gaps nothing between the blocks."""
    scanned, gathered = there(3, 4), there(3, 4, 5)
    comm.Exscan(there(1, 2), scanned)
    comm.Allgatherv(there(1, 2), [gathered, [2], [1], MPI.DOUBLE])
    return differ(scanned=(seen(scanned), [3, 4]), gathered=(seen(gathered), [3, 1, 2]))


def works_in_place(comm):
    total = there(1, 2)
    total[:] = total + total
    comm.Allreduce(MPI.IN_PLACE, total)
    return differ(total=(seen(total), [2, 4]))


def sends_nothing(comm):
    """Empty arrays have no address."""
    comm.Sendrecv(there(), 0, recvbuf=there(), source=0)
    comm.Allreduce(there(), there())
    return []


def brings_back(comm):
    got, total = there(0, 0), there(0, 0)
    comm.Sendrecv(there(1, 2), 0, recvbuf=got, source=0)
    comm.Allreduce(there(1, 2), total)
    return differ(got=(seen(got), [1, 2]), total=(seen(total), [1, 2]))


# ------------------------------------------------------------------ mistakes


lend = Loan.lend


def never_waits(plant):
    plant(Loan, "_wait", lambda loan, array: None)


def waits_for_what_is_sent_only(plant):
    plant(
        Loan, "lend",
        lambda loan, buffer, *, reads=True, writes=False: (
            lend(loan, buffer, reads=reads, writes=writes) if reads else buffer
        ),
    )  # fmt: skip


def waits_for_the_default_stream(plant):
    defaults = list(GPU.streams)
    plant(GPU, "synchronize", lambda array: defaults[array.memory.device].synchronize())


def waits_on_the_current_device(plant):
    plant(GPU, "synchronize", lambda array: GPU.streams[GPU.current()].synchronize())


def starts_on_what_was_there(plant):
    plant(Loan, "renew", lambda loan: None)


def brings_all_of_the_buffer(plant):
    for module in (gpu_comm, gpu_request):
        plant(module, "arrived", lambda buffer, status: None)


def polls_and_forgets(plant):
    plant(GpuRequest, "Test", lambda request, status=None: request.request.Test())


def ends_again(plant):
    plant(GpuRequest, "under_way", property(lambda request: True, lambda request, value: None))


def brings_what_was_given_up(plant):
    plant(GpuRequest, "_end", lambda request, status: request.loan.settle())


def frees_what_is_lent(plant):
    plant(GpuRequest, "Free", lambda request: request.request.Free())


def forgets_what_stays(plant):
    plant(gpu_comm, "_FILLED", (*gpu_comm._FILLED, "Exscan", "Allgatherv"))


def forgets_what_lies_in_the_result(plant):
    plant(gpu_comm.comms, "is_in_place", lambda buffer: False)


def hands_on_no_address(plant):
    made = Loan.__init__
    plant(Loan, "__init__", lambda loan, staged, tally, *, to_mpi=True: made(
        loan, staged, tally, to_mpi=False
    ))  # fmt: skip


def leaves_results_on_the_host(plant):
    plant(Loan, "settle", lambda loan, nbytes=None: None)


MISTAKES = [
    (never_waits, "direct", sends_what_was_computed),
    (never_waits, "direct", leaves_what_is_read_alone),
    (never_waits, "direct", starts_after_the_stream_of_then),
    (never_waits, "direct", replaces_what_was_computed),
    (never_waits, "staged", starts_after_the_stream_of_then),
    (never_waits, "staged", sums_after_the_stream_of_then),
    (waits_for_what_is_sent_only, "direct", leaves_what_is_read_alone),
    (waits_for_the_default_stream, "direct", waits_for_the_current_stream),
    (waits_on_the_current_device, "direct", waits_on_the_device_of_the_array),
    (starts_on_what_was_there, "direct", starts_on_what_is_there),
    (starts_on_what_was_there, "staged", starts_on_what_is_there),
    (brings_all_of_the_buffer, "staged", leaves_the_rest_alone),
    (polls_and_forgets, "staged", polls_until_it_is_there),
    (ends_again, "staged", ends_once),
    (brings_what_was_given_up, "staged", gives_up),
    (frees_what_is_lent, "staged", keeps_what_it_lent),
    (forgets_what_stays, "staged", leaves_parts_alone),
    (forgets_what_lies_in_the_result, "staged", works_in_place),
    (hands_on_no_address, "direct", sends_nothing),
    (leaves_results_on_the_host, "staged", brings_back),
    (leaves_results_on_the_host, "staged", waits_in_any_order),
]
WELL = [
    (probe, way)
    for probe in dict.fromkeys(probe for _, _, probe in MISTAKES)
    for way in ("direct", "staged")
    if (probe, way) != (keeps_what_it_lent, "direct")  # nothing is lent: MPI has the buffer itself
]


@contextmanager
def alone(way):
    """Lend a communicator of this rank alone."""
    inner = MPI.COMM_SELF.Dup()
    yield GpuComm(inner, aware=way == "direct")
    inner.Free()


def found(probe, way):
    """Return what a probe finds; an exception of the call is found too."""
    with alone(way) as comm:
        try:
            return probe(comm)
        except (BufferError, MPI.Exception) as error:
            return [repr(error)]


@pytest.mark.parametrize(
    ("probe", "way"), WELL, ids=[f"{probe.__name__}-{way}" for probe, way in WELL]
)
def test_all_is_well_without_a_mistake(probe, way):
    assert found(probe, way) == []


@pytest.mark.parametrize(
    ("mistake", "way", "probe"), MISTAKES,
    ids=[f"{mistake.__name__}-{way}-{probe.__name__}" for mistake, way, probe in MISTAKES],
)  # fmt: skip
def test_a_mistake_is_seen(mistake, way, probe, monkeypatch):
    mistake(monkeypatch.setattr)
    assert found(probe, way)


# ------------------------------------------------------------------ between CuPy and the host


def copies_are_done(device):
    """What was fetched is there on return, and what was stored is read by then."""
    array, host = device.array(np.array([1.0, 2.0])), np.zeros(2)
    array[:] = array + array
    device.fetch(array, host)
    fetched, host[:] = host.tolist(), [3.0, 4.0]
    device.store(host, array)
    host[:] = 0
    return differ(fetched=(fetched, [2, 4]), stored=(settled(array), [3, 4]))


def copies_on_the_other_device(device):
    """Every device has a default stream of its own."""
    with device.cupy.cuda.Device(1):
        array = device.array(np.array([1.0, 2.0]))
        array[:] = array + array
        other = np.empty_like(array)
        other[:] = array
    host = np.zeros(2)
    device.fetch(array, host)
    fetched, host[:] = host.tolist(), [3.0, 4.0]
    device.store(host, array)
    host[:] = 0
    device.synchronize(other)
    current = (device.current(), 0)
    return differ(fetched=(fetched, [2, 4]), stored=(settled(array), [3, 4]), current=current)


def waits_for_a_stream_of_its_own(device):
    array = device.array(np.array([1.0, 2.0]))
    with GPU.on(stand_in.Stream()):
        array[:] = array + array
        device.synchronize(array)
    return differ(settled=(settled(array), [2, 4]))


def settled(array):
    """Return what a pointer to the array leads to."""
    return array.shown.tolist()


def without_waiting(plant):
    def fetch(cuda, array, host):
        array.get(stream=cuda.cupy.cuda.get_current_stream(), out=host)

    plant(Cuda, "fetch", fetch)


def without_waiting_for_what_is_stored(plant):
    plant(Cuda, "store", lambda cuda, host, array: array.set(host))


@contextmanager
def current_stream(cuda, array):
    """Forget that the default stream is that of the current device."""
    stream = cuda.cupy.cuda.get_current_stream(cuda.where(array))
    yield stream
    stream.synchronize()


@contextmanager
def default_stream(cuda, array):
    stream = cuda.cupy.cuda.Stream()
    yield stream
    stream.synchronize()


def on_the_current_device(plant):
    plant(Cuda, "_stream", current_stream)


def on_the_default_stream(plant):
    plant(Cuda, "_stream", default_stream)


COPIES = [
    (without_waiting, copies_are_done),
    (without_waiting_for_what_is_stored, copies_are_done),
    (on_the_current_device, copies_on_the_other_device),
    (on_the_default_stream, waits_for_a_stream_of_its_own),
]


@pytest.mark.parametrize(
    ("mistake", "probe"), COPIES, ids=[f"{m.__name__}-{p.__name__}" for m, p in COPIES]
)
def test_a_mistake_in_copying_is_seen(mistake, probe, cuda, monkeypatch):
    assert probe(cuda) == []
    mistake(monkeypatch.setattr)
    assert probe(cuda)
