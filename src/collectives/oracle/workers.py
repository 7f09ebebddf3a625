"""Processes that run programs rank by rank, watched from outside: a hang there is no hang here.

`Workers` starts them and is the `World` that sends them programs; `serve` is the loop that each
of them runs. When nothing comes back for a while, every rank that still runs is asked where it
is, and all are started afresh for the next program.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing import Pipe, connection
from pathlib import Path
from typing import Any, Final

from collectives.op import PREDEFINED, Op
from collectives.oracle.payloads import AFFINE
from collectives.oracle.worlds import EAGER, Ending, Outcome, ending
from collectives.sim import Network

GRACE: Final = 1.0
"""Seconds that the other ranks get once one has raised an exception."""

START: Final = 120.0
"""Seconds that processes get to start and find each other."""

_STEPS: Final = (5, 9, 16, 32, 64)
"""How many processes are started: those that are not needed wait."""

_OPS: Final = PREDEFINED | {AFFINE.name: AFFINE}


class Workers:
    """As many processes as are asked for, each a rank.

    Parameters
    ----------
    module : str
        What every process runs, ``python -m module``, with `arguments`, its rank, the number of
        ranks, a folder that they share, and the number of its end of a pipe: it calls `serve`.
    arguments : sequence of str
        Such as the name of a backend.
    patience : float
        Seconds without any answer after which a program counts as stuck.
    """

    sizes: Sequence[int] = range(1, 65)

    def __init__(self, module: str, arguments: Sequence[str], patience: float = 10.0) -> None:
        self.module, self.arguments, self.patience = module, arguments, patience
        self.name = " ".join(arguments)
        self.ranks: list[_Rank] = []
        self.folder: tempfile.TemporaryDirectory[str] | None = None

    def run(self, program: Callable[[Any], Any], p: int, *, network: Network = EAGER) -> Outcome:
        """Run ``program(comm)`` on the first p ranks; `network` is theirs to choose."""
        if len(self.ranks) < p:
            self.stop()
            self.start(next(size for size in _STEPS if size >= p))
        message = dumps((program, p))
        for rank in self.ranks[:p]:
            with contextlib.suppress(OSError):  # one that is no more says so when it is to answer
                rank.pipe.send_bytes(message)
        answers: dict[int, Any] = {}
        endings: dict[int, Ending] = {}
        last = time.monotonic()
        while len(answers) + len(endings) < p:
            waiting = [r for r in self.ranks[:p] if r.number not in answers | endings]
            limit = GRACE if endings else self.patience
            ready = connection.wait([r.pipe for r in waiting], last + limit - time.monotonic())
            if not ready:
                break
            last = time.monotonic()
            for rank in (r for r in waiting if r.pipe in ready):
                found = rank.answer()
                (endings if isinstance(found, Ending) else answers)[rank.number] = found
        results = [answers.get(number) for number in range(p)]
        stuck = [r for r in self.ranks[:p] if r.number not in answers | endings]
        if not stuck and not endings:
            return Outcome(results)
        story = _story(endings, stuck, bool(answers))
        if stuck or any(end.kind == "died" for end in endings.values()):
            self.stop()
        return Outcome(results, story)

    def start(self, size: int = _STEPS[0]) -> None:
        """Start `size` processes; ValueError where they say that they cannot do what is asked."""
        self.folder = tempfile.TemporaryDirectory(prefix="collectives-")
        self.ranks = [
            _Rank(self.module, [*self.arguments, str(number), str(size)], Path(self.folder.name))
            for number in range(size)
        ]
        hello: Any = None
        deadline = time.monotonic() + START
        for rank in self.ranks:
            if not rank.pipe.poll(max(0.0, deadline - time.monotonic())):
                self.stop()
                raise ValueError(f"{self.name}: rank {rank.number} did not start in {START:g} s")
            hello = rank.answer()
            if isinstance(hello, Ending):
                self.stop()
                raise ValueError(hello.text)
        self.name = str(hello)

    def stop(self) -> None:
        """End all processes: those that listen by themselves, the others by force."""
        for rank in self.ranks:
            rank.pipe.close()
        for rank in self.ranks:
            rank.end()
        self.ranks = []
        if self.folder is not None:
            self.folder.cleanup()
            self.folder = None


class _Rank:
    """One process, seen from the one that started it."""

    def __init__(self, module: str, arguments: Sequence[str], folder: Path) -> None:
        self.number = int(arguments[-2])
        self.log = folder / f"rank{self.number}"
        self.pipe, theirs = Pipe()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments, str(folder), str(theirs.fileno())],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[theirs.fileno()], start_new_session=True,
            )  # fmt: skip
        theirs.close()

    def answer(self) -> Any:
        """Return what the rank sent, or how it ended."""
        try:
            return loads(self.pipe.recv_bytes())
        except (EOFError, OSError):
            code = self.process.wait()
            said = self.log.read_text(errors="replace").strip().splitlines()
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            more = f", last said {said[-1]!r}" if said else ""
            return Ending("died", f"rank {self.number} ended with {how}{more}", self.number)

    def whereabouts(self) -> str:
        """Return the function in which the rank is, and its line, as it says itself."""
        with contextlib.suppress(ProcessLookupError):
            before = self.log.stat().st_size
            self.process.send_signal(signal.SIGUSR1)
            for _ in range(50):
                time.sleep(0.02)
                text = self.log.read_bytes()[before:].decode(errors="replace")
                main = text.rpartition("Current thread")[2]
                for file, line, name in re.findall(r'File "(.+)", line (\d+) in (\S+)', main):
                    if "site-packages" not in file and not file.startswith(
                        os.path.dirname(os.__file__)
                    ):
                        return f"in {name} ({os.path.basename(file)}:{line})"
        return "somewhere"

    def end(self) -> None:
        """Wait a moment for the process to end; then end it and what it may have started."""
        try:
            self.process.wait(0.5)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def _story(endings: dict[int, Ending], stuck: Sequence[_Rank], some_returned: bool) -> Ending:
    """Bring together how the ranks ended that did not return."""
    if endings:
        alike = not stuck and not some_returned
        if alike and {end.kind for end in endings.values()} == {"refused"}:
            return endings[min(endings)]
        ranking = {"died": 0, "refused": 2}  # what the others say of a dead rank is no cause
        rank, first = min(endings.items(), key=lambda item: ranking.get(item[1].kind, 1))
        if first.kind == "died":
            return Ending("raised", first.text, rank)
        kind = "raised" if first.kind == "refused" else first.kind  # not by all
        return Ending(kind, f"rank {rank}: {first.text}", rank)
    places = "; ".join(f"rank {rank.number} waits {rank.whereabouts()}" for rank in stuck)
    rest = ", the others have returned" if some_returned else ""
    return Ending(
        "starved" if some_returned else "deadlock", f"deadlock, {places}{rest}", stuck[0].number
    )


# ------------------------------------------------------------------ in every process


def serve(descriptor: int, hello: str, comm: Callable[[int], Any]) -> None:
    """Say hello, then run the programs that come, on ``comm(p)``, until the pipe is closed."""
    pipe = connection.Connection(descriptor)
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    pipe.send_bytes(dumps(hello))
    while True:
        try:
            program, p = loads(pipe.recv_bytes())
        except EOFError:
            return
        try:
            answer = program(comm(p))
        except Exception as error:
            answer = ending(error)
        pipe.send_bytes(dumps(answer))


def refuse(descriptor: int, reason: str) -> None:
    """Say, instead of hello, why nothing can be run."""
    connection.Connection(descriptor).send_bytes(dumps(Ending("refused", reason)))


# ------------------------------------------------------------------ what travels


class _Pickler(pickle.Pickler):
    def persistent_id(self, value: Any) -> Any:
        return value.name if isinstance(value, Op) and _OPS.get(value.name) is value else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, name: Any) -> Op:
        return _OPS[name]


def dumps(value: Any) -> bytes:
    """Return a value as bytes; known operations by name, so that they arrive as what they are."""
    stream = io.BytesIO()
    _Pickler(stream).dump(value)
    return stream.getvalue()


def loads(data: bytes) -> Any:
    """Return what `dumps` was given, in a process of this program's own."""
    return _Unpickler(io.BytesIO(data)).load()
