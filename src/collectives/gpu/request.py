"""`GpuRequest`: a call under way whose buffers on a device MPI has copies of."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from collectives.gpu.staging import Loan


class GpuRequest:
    """A call on copies of device buffers; or a persistent one, which waits whenever it starts.

    It is no ``MPI.Request``, so that ``MPI.Request.Waitall`` refuses it instead of leaving results
    in host memory: wait for each, or use the ``Waitall`` here.

    Parameters
    ----------
    comm, request : Comm, Request
        The communicator underneath, and its request.
    loan : Loan
        What it was lent.
    incoming : buffer, optional
        That of a receive, which may get less than it has room for.
    under_way : bool
        Whether the call has begun; a persistent one does with ``Start``.
    """

    __slots__ = ("comm", "incoming", "loan", "request", "under_way")

    def __init__(
        self, comm: Any, request: Any, loan: Loan, incoming: Any = None, *, under_way: bool = True
    ) -> None:
        self.comm, self.request, self.loan = comm, request, loan
        self.incoming, self.under_way = incoming, under_way

    def Start(self) -> None:
        """Start a persistent request on what the buffers hold now."""
        self.loan.renew()
        self.request.Start()
        self.under_way = True

    def Wait(self, status: Any = None) -> bool:
        """Return when the call is complete and what arrived is on the device."""
        status = status or new_status(self.comm)
        self.request.Wait(status)
        self._end(status)
        return True

    wait = Wait

    def Test(self, status: Any = None) -> bool:
        """Tell whether the call is complete; what arrived is on the device then."""
        status = status or new_status(self.comm)
        done = bool(self.request.Test(status))
        if done:
            self._end(status)
        return done

    def Cancel(self) -> None:
        """Ask for the call to be given up; it ends with ``Wait`` all the same."""
        self.request.Cancel()

    def Free(self) -> None:
        """Free a persistent request; ValueError while MPI may still use the copies lent to it."""
        if self.under_way and self.loan.copies:
            raise ValueError("the call is under way on copies of GPU buffers: wait for it first")
        self.request.Free()

    @staticmethod
    def Waitall(requests: Iterable[Any]) -> bool:
        """Wait for each of `requests`."""
        return all(request.Wait() for request in list(requests))

    def _end(self, status: Any) -> None:
        """Bring what arrived to the device, once for every time the call was started."""
        if not self.under_way:
            return
        self.under_way = False
        if hasattr(status, "Is_cancelled") and status.Is_cancelled():
            return
        self.loan.settle(None if self.incoming is None else arrived(self.incoming, status))


def new_status(comm: Any) -> Any:
    """Return where `comm` can say how much has arrived."""
    if hasattr(comm, "kernel"):  # simulated
        return SimpleNamespace()
    from mpi4py import MPI

    return MPI.Status()


def arrived(buffer: Any, status: Any) -> int | None:
    """Return how many bytes of an array have arrived; None for ``[array, counts, ...]``."""
    if isinstance(buffer, list | tuple):
        return None
    if hasattr(status, "nbytes"):  # simulated
        return int(status.nbytes)
    from mpi4py import MPI

    return int(status.Get_count(MPI.BYTE))


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given: the defaults of the library stand for the others."""
    return {name: value for name, value in options.items() if value is not None}
