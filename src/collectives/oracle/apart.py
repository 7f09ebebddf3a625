"""A check in a process of its own: whatever the checked code does to it, somebody is left to tell.

Code that ends its process, with exit code 0 at that, would end the check as if nothing were wrong.
So the check runs in a child and sends its report; where no report comes, the process that is left
says what was called last, and how the child ended.
"""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Final, NoReturn, TypeAlias

from collectives.launch import under_mpi
from collectives.oracle.report import Fault, Report, Verdict

Work: TypeAlias = Callable[[Callable[[Fault], None], Callable[[Report], None]], Report]
"""``work(before, tell)`` returns the report. It calls ``before(fault)`` ahead of every call of the
code, with the fault that it is should the process not survive, and may tell of a hang early."""

_ROOM: Final = 1 << 16

_HEARD: Final = 20.0
"""Seconds in which a report that is told early is on its way to whoever reads it."""

_GRACE: Final = 3.0
"""Seconds in which the other ranks of a job can say that this one has died, and end the job."""


def run_apart(work: Work, tell: Callable[[Report], None]) -> Report | None:
    """Return the report of `work`, run in a child process, or one that says how this died.

    None where the story has been told already: by `tell`, or by the other ranks of an MPI job.
    What `work` raises is raised here; what it prints goes to stderr.
    """
    if not hasattr(os, "fork"):
        return work(lambda fault: None, tell)
    last, (mine, theirs), parent = mmap.mmap(-1, _ROOM), Pipe(), os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        mine.close()
        _be_the_child(work, last, theirs, parent)
    theirs.close()
    told, sent = False, None
    for sent in _received(mine):
        if isinstance(sent, _Early):
            tell(sent.report)
            sys.stdout.flush()
            with suppress(ConnectionError):
                mine.send_bytes(b"told")  # the child ends the job now, and this process with it
            told = True
    code = os.waitstatus_to_exitcode(_waited(child))
    if isinstance(sent, BaseException):
        raise sent
    if isinstance(sent, Report):
        return sent
    if under_mpi():
        time.sleep(_GRACE)
    return None if told or under_mpi() else _of_a_death(last, code)


@dataclass(frozen=True)
class _Early:
    """A report that is told at once, as the job is about to end."""

    report: Report


def _received(pipe: Connection) -> Iterator[Report | BaseException | _Early]:
    """Yield what the child sends."""
    while True:
        try:
            yield pickle.loads(pipe.recv_bytes())
        except (EOFError, ConnectionError):
            return
        except KeyboardInterrupt:  # the child has got it, too, and ends
            continue


def _waited(child: int) -> int:
    while True:
        try:
            return os.waitpid(child, 0)[1]
        except KeyboardInterrupt:
            continue


def _of_a_death(last: mmap.mmap, code: int) -> Report:
    """Return what there is to say where no report came."""
    how = f"signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"exit code {code}"
    called = last[:].rstrip(b"\0")
    if not called:
        raise ValueError(f"the process of the check ended before it made any call, with {how}")
    fault: Fault = replace(pickle.loads(called), text=f"the call ended the process, with {how}")
    verdict = Verdict(fault.property, fault.collective, fault.name, "broken", 1, fault=fault)
    return Report(f"{fault.collective} {fault.name}", "a process that has died", (verdict,))


# ------------------------------------------------------------------ in the child


def _be_the_child(work: Work, last: mmap.mmap, pipe: Connection, parent: int) -> NoReturn:
    """Do the work, send what came of it, and end."""
    leave = os._exit
    os._exit = _raising(leave)  # type: ignore[assignment]
    os.dup2(2, 1)
    threading.Thread(target=_end_with, args=(parent, leave), daemon=True).start()

    def before(fault: Fault) -> None:
        told = pickle.dumps(fault)[:_ROOM]
        last[: len(told)] = told

    def send(what: Report | BaseException | _Early) -> None:
        pipe.send_bytes(pickle.dumps(what))

    def tell(report: Report) -> None:
        send(_Early(report))
        if pipe.poll(_HEARD):
            pipe.recv_bytes()

    code = 0
    try:
        send(work(before, tell))
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except (ValueError, OSError, KeyboardInterrupt) as error:
        send(error)
    except BaseException as error:
        send(RuntimeError("".join(traceback.format_exception(error))))
    pipe.close()
    if under_mpi():
        sys.exit(code)  # with all that MPI does at the end
    sys.stderr.flush()
    leave(code)


def _raising(leave: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
    """Return an ``os._exit`` that raises in this thread, in which checked code calls it."""

    def ended(status: int) -> NoReturn:
        if threading.current_thread() is threading.main_thread():
            raise SystemExit(f"os._exit({status})")
        leave(status)

    return ended


def _end_with(parent: int, leave: Callable[[int], NoReturn]) -> None:
    """End this process when its parent is no more, as launchers end that one only."""
    while os.getppid() == parent:
        time.sleep(0.1)
    leave(1)
