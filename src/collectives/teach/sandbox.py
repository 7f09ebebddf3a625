"""Runs a submission apart: each rank a process that sees its own input and nothing else.

The grader keeps the network, the counters, the other ranks' inputs and the expected results; a
rank hands back the bytes of its buffers. So no result can be right unless it was computed from
messages, and no count can be wrong, whatever a submission does to its own process.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any, Final

from collectives.comm import Array
from collectives.oracle.buffers import Buffers
from collectives.teach.attempt import PATTERN, Job, SubmissionError
from collectives.teach.clerk import Clerk
from collectives.teach.rank import words_of
from collectives.teach.scene import Scene
from collectives.teach.source_text import printable
from collectives.teach.wire import BrokenWireError, SilenceError, Wire

PATIENCE: Final = 10.0
"""Seconds without a call and without an answer after which a rank is taken to run for ever."""

TOGETHER = 300.0
"""Seconds that all runs of a submission may take together."""

_START: Final = 60.0
"""Seconds that processes get to start."""

_PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT", "TZ")


class Sandbox:
    """A `Runner` whose ranks are locked-in processes; a context manager.

    Parameters
    ----------
    source : str
        The text of the submission. Its file is not looked at again.
    patience : float
        Seconds without progress after which a rank is given up.
    """

    def __init__(self, source: str, patience: float = PATIENCE) -> None:
        self.source, self.patience = source, patience
        self.until = time.monotonic() + TOGETHER
        self.ranks: list[Wire] = []
        self.control: socket.socket | None = None
        self.folder: tempfile.TemporaryDirectory[str] | None = None
        self.keeper: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Sandbox:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _start(self) -> None:
        self.folder = tempfile.TemporaryDirectory(
            prefix="collectives-grade-", ignore_cleanup_errors=True
        )
        self.control, theirs = socket.socketpair()
        self.control.settimeout(_START)
        with tempfile.TemporaryFile() as said:
            self.keeper = subprocess.Popen(
                python("collectives.teach.rank", str(theirs.fileno())),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
                pass_fds=[theirs.fileno()], cwd=self.folder.name, start_new_session=True,
                env=environment(self.folder.name),
            )  # fmt: skip
            theirs.close()
            if self.control.recv(16):
                return
            said.seek(0)
            why = said.read().decode(errors="replace").strip().rpartition("\n")[2]
        self._end()
        raise OSError(f"no process can be started for submissions: {why or 'it says nothing'}")

    def _end(self) -> None:
        assert self.keeper is not None
        for rank in self.ranks:
            rank.close()
        self.ranks = []
        if self.control is not None:
            self.control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.keeper.wait(2.0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.keeper.pid, signal.SIGKILL)
        self.keeper.wait()
        if self.folder is not None:
            self.folder.cleanup()

    def names(self) -> set[str]:
        """Return the functions that the submission defines; SubmissionError where it has none."""
        self._rank(0)
        return self.functions

    def value(self, function: str, *arguments: Any) -> Any:
        """Return what a function of numbers gives, as plain data."""
        words = {"function": function, "arguments": arguments}
        try:
            answer, _ = self._asked(self._rank(0), words)
        except SubmissionError:
            self.reset()  # a late answer is no answer to the next question
            raise
        if "raised" in answer:
            raise SubmissionError("raised", *_told(answer))
        return answer.get("value")

    def play(self, clerk: Clerk, function: str, scene: Scene, rank: int, size: int) -> Any:
        """Run one rank's part of a scene; return what it gives, as plain data."""
        given = list(scene.arrays[rank])
        words = {"function": function, "arguments": scene.words, "rank": rank, "size": size,
                 "shapes": [array.shape for array in given]}  # fmt: skip
        answer, _ = self._served(clerk, rank, words, given)
        return answer.get("value")

    def call(self, clerk: Clerk, job: Job, rank: int, size: int) -> Buffers:
        words = {"function": job.function, "rank": rank, "case": words_of(job.case)}
        answer, arrays = self._served(clerk, rank, words, [job.inputs[rank]])
        clerk.early_line = clerk.early_line or _number(answer.get("done"))
        buffers = Buffers(job.case, rank, job.inputs[rank], PATTERN)
        wholes = (buffers.sent.whole, buffers.received.whole)
        if [(a.dtype, a.size) for a in arrays] != [(w.dtype, w.size) for w in wholes]:
            raise SubmissionError("misbehaved", "", f"rank {rank} handed back no buffers")
        for whole, array in zip(wholes, arrays, strict=True):
            whole[:] = array
        return buffers

    def reset(self) -> None:
        """End all ranks; the next run starts new ones, with a new keeper if that one is gone."""
        for rank in self.ranks:
            rank.close()
        self.ranks = []
        assert self.control is not None
        try:
            self.control.sendall(b"end")
            ended = self.control.recv(16)
        except OSError:
            ended = b""
        if not ended:
            self._end()
            self._start()

    # ------------------------------------------------------------------ how it is done

    def _rank(self, number: int) -> Wire:
        assert self.control is not None
        while len(self.ranks) <= number:
            mine, theirs = socket.socketpair()
            try:
                socket.send_fds(self.control, [b"start"], [theirs.fileno()])
            except OSError as error:
                raise SubmissionError("died", "", "the sandbox has ended") from error
            theirs.close()
            self.ranks.append(Wire(mine))
            answer, _ = self._asked(self.ranks[-1], {"source": self.source})
            if "raised" in answer:
                raise SubmissionError("raised", *_told(answer))
            self.functions = {str(name) for name in answer.get("functions", ())}
        return self.ranks[number]

    def _served(self, clerk: Clerk, rank: int, words: dict[str, Any], arrays: list[Array]) -> Any:
        """Let a rank do a job, and do what it asks for; return what it gives."""
        wire = self._rank(rank)
        answer, sent = self._asked(wire, words, arrays)
        while "call" in answer:
            try:
                reply = clerk.ask(answer, sent)
            except (KeyError, IndexError, TypeError, StopIteration, AttributeError) as error:
                raise SubmissionError("misbehaved", "", f"rank {rank}: {error}") from error
            answer, sent = self._asked(wire, *reply)
        if "raised" in answer:
            raise SubmissionError("raised", *_told(answer))
        return answer, sent

    def _asked(self, wire: Wire, words: dict[str, Any], *arrays: Any) -> Any:
        sent = list(arrays[0]) if arrays and isinstance(arrays[0], list) else list(arrays)
        number = self.ranks.index(wire)
        left = self.until - time.monotonic()
        patience = max(self.patience, _START if "source" in words else 0.0)
        try:
            wire.send(words, sent)
            return wire.receive(min(patience, left))
        except SilenceError:
            text = f"rank {number} made no call and did not return for {self.patience:g} s"
            if left < patience:
                text = f"all runs together took more than {TOGETHER:g} s"
            raise SubmissionError("hung", "", text) from None
        except BrokenWireError as error:
            text = f"rank {number} has ended in the middle of its work"
            raise SubmissionError("died", "", text) from error


def python(module: str, *arguments: str) -> list[str]:
    """Return the command that runs ``main()`` of a module of this package, isolated."""
    path = json.dumps([os.path.abspath(place) for place in sys.path if place])
    program = (
        f"import json, sys; sys.path[:] = json.loads({path!r}); from {module} import main; main()"
    )
    return [sys.executable, "-I", "-c", program, *arguments]


def environment(folder: str) -> dict[str, str]:
    """Return the environment of a submission: hardly anything."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return kept | {
        "HOME": folder, "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip


def _told(answer: dict[str, Any]) -> tuple[str, str, int]:
    """Return what a rank says that it raised."""
    said = answer["raised"]
    if not (isinstance(said, list) and len(said) == 3):
        return "Exception", "", 0
    return printable(str(said[0])[:80]), printable(str(said[1])[:1000]), _number(said[2])


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
