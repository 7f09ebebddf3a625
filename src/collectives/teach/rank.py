"""A rank of a submission, in a process of its own that has locked itself in.

The keeper, which never sees the submission, makes a process for each rank and ends them all when
it is told to. A rank reads the submission, then job after job; whatever it wants of the network it
asks the grader for, which has the network, the counters and the verdict.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from typing import Any

from collectives.comm import Array
from collectives.op import PREDEFINED
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.payloads import AFFINE
from collectives.teach.attempt import PATTERN, SubmissionError, functions_of, line_of, perform
from collectives.teach.learner_comm import Comm
from collectives.teach.limits import limit, lock_in
from collectives.teach.scene import plain
from collectives.teach.wire import BrokenWireError, Wire

OPS = PREDEFINED | {AFFINE.name: AFFINE}


def keep(control: int) -> None:
    """Make and end ranks as the grader says, until it closes the connection."""
    orders = socket.socket(fileno=control)
    orders.sendall(b"ready")
    os.dup2(1, 2)  # what ranks say is heard by nobody
    children: list[int] = []
    while True:
        order, handles, *_ = socket.recv_fds(orders, 16, 1)
        if order == b"start":
            child = os.fork()
            if not child:
                orders.close()
                _live(handles[0])
            os.close(handles[0])
            children.append(child)
        else:
            for child in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            children.clear()
            if not order:
                return
            orders.sendall(b"ended")


def _live(handle: int) -> None:
    """Be a rank; never return."""
    code = 1
    try:
        wire = Wire(socket.socket(fileno=handle))
        limit()
        lock_in()
        words, _ = wire.receive()
        _serve(wire, words["source"])
        code = 0
    except BrokenWireError:
        code = 0  # the grader has no more to ask
    finally:
        os._exit(code)


def _serve(wire: Wire, source: str) -> None:
    try:
        functions = functions_of(source)
    except SubmissionError as error:
        wire.send({"raised": [error.name, error.text, error.line]})
        return
    wire.send({"functions": sorted(functions)})
    while True:
        job, arrays = wire.receive()
        try:
            words, results = _do(wire, functions[job["function"]], job, arrays)
        except BrokenWireError:
            raise
        except BaseException as error:
            name, text = type(error).__name__, str(error)[:1000]
            words, results = {"raised": [name, text, line_of(error)]}, []
        wire.send(words, results)


def _do(
    wire: Wire, function: Any, job: dict[str, Any], arrays: list[Array]
) -> tuple[dict[str, Any], list[Array]]:
    """Make one call; return what is sent back."""
    if "arguments" in job and "rank" not in job:
        return {"value": plain(function(*job["arguments"]))}, []
    early = 0

    def ask(request: dict[str, Any], sent: list[Array]) -> tuple[dict[str, Any], list[Array]]:
        wire.send(request | {"early": early}, sent)
        return wire.receive()

    def say(line: int) -> None:
        nonlocal early
        early = early or line

    if "arguments" in job:
        given = [a.reshape(shape) for a, shape in zip(arrays, job["shapes"], strict=True)]
        value = function(Comm(ask, job["rank"], job["size"]), *given, *job["arguments"])
        return {"value": plain(value)}, []
    case = case_of(job["case"])
    buffers = Buffers(case, job["rank"], arrays[0], PATTERN)
    perform(function, Comm(ask, job["rank"], case.p), buffers, say)
    return {"done": early}, [buffers.sent.whole, buffers.received.whole]


def words_of(case: Case) -> dict[str, Any]:
    """Return a case as words, for `case_of` on the other side."""
    return {
        "collective": case.collective, "p": case.p, "n": case.n, "op": case.op.name,
        "root": case.root, "counts": case.counts, "in_place": case.in_place,
        "chosen": list(case.chosen),
    }  # fmt: skip


def case_of(words: dict[str, Any]) -> Case:
    """Return the case that `words_of` has put into words."""
    counts = words["counts"]
    return Case(
        words["collective"], words["p"], words["n"], OPS[words["op"]], words["root"],
        None if counts is None else tuple(counts), words["in_place"],
        tuple((name, value) for name, value in words["chosen"]),
    )  # fmt: skip


def main() -> None:
    with contextlib.suppress(ImportError):
        import mpi4py

        mpi4py.rc(initialize=False, finalize=False)  # for MPI.PROC_NULL and the like, and no more
    keep(int(sys.argv[1]))
