"""`GpuComm`: an MPI communicator for buffers on a device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from collectives import comm as comms
from collectives.gpu.detect import Wish, takes_device_memory
from collectives.gpu.request import GpuRequest, arrived, given, new_status
from collectives.gpu.staging import HOST_OPERATIONS, Loan, has_device_buffer, say_once
from collectives.launch import library_name

_COLLECTIVES: Final = (
    "Bcast", "Reduce", "Scatter", "Scatterv", "Gather", "Gatherv", "Allgather", "Allgatherv",
    "Reduce_scatter", "Reduce_scatter_block", "Allreduce", "Scan", "Exscan", "Alltoall",
    "Alltoallv", "Neighbor_allgather", "Neighbor_alltoall",
)  # fmt: skip

_NAMES: Final = dict.fromkeys(_COLLECTIVES, ("sendbuf", "recvbuf")) | {"Bcast": ("buf", "root")}
"""What mpi4py calls their first two arguments."""

_FORMS: Final = (
    {name: name for name in _COLLECTIVES}
    | {f"I{name.lower()}": name for name in _COLLECTIVES}
    | {f"{name}_init": name for name in _COLLECTIVES}
)
"""The three forms of every collective that takes buffers."""

_FILLED: Final = (
    "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Allgather", "Alltoall",
    "Scatter",
)  # fmt: skip
"""What writes to every element of its result, so that this need not be read before."""


class GpuComm:
    """A communicator that does what buffers on a device need, and passes every call on.

    Before a call that hands device memory to MPI it waits for the current stream of the device.
    Where the MPI library does not take device memory, buffers go through pinned host memory, with
    a warning that names the cost. Host buffers are passed on as they are.

    Algorithms make one by themselves when they are called with CuPy arrays; so wrap a communicator
    to decide `aware`, or to call MPI on CuPy arrays directly.

    Parameters
    ----------
    comm : Comm
        A communicator of mpi4py, or one that wraps it.
    aware : bool or 'require', optional
        Whether MPI is handed device memory. Found out where not given; then the environment
        variable COLLECTIVES_GPU_AWARE can say 0, 1 or require. With ``'require'``, ValueError
        where the library does not take device memory. True where it does not ends the program
        with a segmentation fault in the library.

    Attributes
    ----------
    tally : Counter
        What was done on this communicator: ``waits`` for streams, ``copies`` between device and
        host, and their ``nbytes``.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> comm = GpuComm(SimpleNamespace(rank=0, size=1, Send=print), aware=False)
    >>> comm.Send("what is on the host", dest=0, tag=3)
    what is on the host 0 3
    """

    takes_devices = True
    """Nothing has to be done any more for arrays on a device."""

    __slots__ = ("aware", "comm", "rank", "size", "tally")

    def __init__(self, comm: Any, aware: Wish = None) -> None:
        self.comm, self.aware = comm, takes_device_memory(aware)
        self.rank, self.size = comm.rank, comm.size
        self.tally: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"GpuComm({self.comm!r}, aware={self.aware})"

    @property
    def is_private(self) -> bool:
        return comms.is_private(self.comm)

    def private(self) -> GpuComm:
        """Return the duplicate on which algorithms send."""
        made = GpuComm(comms.private(self.comm), self.aware)
        made.tally = self.tally
        return made

    # ------------------------------------------------------------------ messages

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        self.comm.Send(self._loan(buf).lend(buf), dest, tag)

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        self.comm.Ssend(self._loan(buf).lend(buf), dest, tag)

    def Recv(
        self, buf: Any, source: int | None = None, tag: int | None = None, status: Any = None
    ) -> None:
        if not has_device_buffer([buf]):
            self.comm.Recv(buf, **given(source=source, tag=tag, status=status))
            return
        loan, status = self._loan(buf), status or new_status(self.comm)
        incoming = loan.lend(buf, reads=False, writes=True)
        self.comm.Recv(incoming, **given(source=source, tag=tag, status=status))
        loan.settle(arrived(buf, status))

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None,
        source: int | None = None, recvtag: int | None = None, status: Any = None,
    ) -> None:  # fmt: skip
        peer = given(source=source, recvtag=recvtag)
        if not has_device_buffer([sendbuf, recvbuf]):
            options = peer | given(status=status)
            self.comm.Sendrecv(sendbuf, dest, sendtag, recvbuf=recvbuf, **options)
            return
        loan, status = self._loan(sendbuf, recvbuf), status or new_status(self.comm)
        outgoing, incoming = loan.lend(sendbuf), loan.lend(recvbuf, reads=False, writes=True)
        self.comm.Sendrecv(outgoing, dest, sendtag, recvbuf=incoming, status=status, **peer)
        loan.settle(arrived(recvbuf, status))

    def Sendrecv_replace(self, buf: Any, *peers: int, **options: Any) -> None:
        loan = self._loan(buf)
        self.comm.Sendrecv_replace(loan.lend(buf, writes=True), *peers, **options)
        loan.settle()

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        loan = self._loan(buf)
        return self._started(self.comm.Isend(loan.lend(buf), dest, tag), loan)

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        loan = self._loan(buf)
        return self._started(self.comm.Issend(loan.lend(buf), dest, tag), loan)

    def Irecv(self, buf: Any, source: int | None = None, tag: int | None = None) -> Any:
        loan = self._loan(buf)
        incoming = loan.lend(buf, reads=False, writes=True)
        request = self.comm.Irecv(incoming, **given(source=source, tag=tag))
        return self._started(request, loan, buf)

    def _started(self, request: Any, loan: Loan, incoming: Any = None) -> Any:
        """Return what to wait for: the library's own request where MPI has the buffers."""
        return GpuRequest(self.comm, request, loan, incoming) if loan.copies else request

    # ------------------------------------------------------------------ everything else

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.comm, name)
        return partial(self._call, name, found) if callable(found) else found

    def _call(self, name: str, found: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Pass a call on; a communicator that it returns is wrapped like this one."""
        if not has_device_buffer([*args, *kwargs.values()]):
            result = found(*args, **kwargs)
            made = hasattr(result, "Get_topology") and bool(result)  # MPI.COMM_NULL is false
            return GpuComm(result, self.aware) if made else result
        if name not in _FORMS:
            raise ValueError(f"{name} is not passed on with buffers on a device")
        return self._collective(name, found, args, kwargs)

    def _collective(
        self, name: str, found: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        blocking, loan = _FORMS[name], self._loan(*args, *kwargs.values())
        handed: dict[Any, Any] = dict(enumerate(args)) | kwargs
        first, second = (
            number if number < len(args) else word for number, word in enumerate(_NAMES[blocking])
        )
        if blocking == "Bcast":
            handed[first] = loan.lend(handed[first], writes=self.rank != handed.get(second, 0))
        else:
            reads = comms.is_in_place(handed[first]) or blocking not in _FILLED
            handed[first] = loan.lend(handed[first])
            handed[second] = loan.lend(handed[second], reads=reads, writes=True)
        options = {word: handed[word] for word in kwargs}
        result = found(*(handed[number] for number in range(len(args))), **options)
        if name.endswith("_init"):
            return GpuRequest(self.comm, result, loan, under_way=False)
        if name != blocking:
            return self._started(result, loan)
        loan.settle()
        return result

    def _loan(self, *arguments: Any) -> Loan:
        """Return what lends the buffers among `arguments`, and say once what it costs."""
        to_mpi = hasattr(self.comm, "Allreduce")
        if not has_device_buffer(arguments):
            return Loan(False, self.tally, to_mpi=to_mpi)
        made = next((x for x in arguments if hasattr(x, "Is_commutative")), None)
        if made is not None and not made.is_predefined:
            say_once(f"{HOST_OPERATIONS}: GPU buffers of built-in reductions are copied there")
            return Loan(True, self.tally, to_mpi=to_mpi)
        if not self.aware and to_mpi:
            say_once(
                f"{library_name()} is not handed GPU memory: every message is copied to pinned "
                "host memory before it is sent and to the GPU after it has arrived, two copies "
                "more; `collectives gpu` says why, and how to get a GPU-aware MPI"
            )
        return Loan(not self.aware, self.tally, to_mpi=to_mpi)
