"""What every rank is doing, in memory that all ranks of a machine share; and who sees one die.

Every rank writes into its slot. A witness, a process of its own that no launcher knows, waits for
the ranks to end: when one does so in the middle of its work, the launcher kills the others before
they can say anything, and the witness says whose death it was. It imports nothing but the standard
library: ``python page.py PATH SIZE``.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass

IDLE, CALLING, BACK, RAISED, LEFT, DEAD = range(6)
"""What a rank is doing: judging; inside the target; back from it; back with an exception; it has
ended in order; it has ended otherwise."""

TELLING, TOLD = 1, 2
"""In the slot for all: somebody tells how the job ends; it has been told."""

_SLOT = 2048
_HEAD = struct.Struct("<QqqqH")  # count, state, process, peer, length of the text


@dataclass(frozen=True)
class Doing:
    """What a rank has written into its slot; `peer` is the rank that it waits for, or -1."""

    count: int
    state: int
    process: int
    peer: int
    text: str


class Page:
    """One slot per rank, and one for what is checked and whether somebody has told the story."""

    def __init__(self, path: str, size: int, rank: int) -> None:
        self.size, self.rank, self.count, self.state, self.what = size, rank, 0, IDLE, ""
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), _SLOT * (size + 1))

    @staticmethod
    def create(size: int) -> str:
        """Make the file and return its path."""
        handle, path = tempfile.mkstemp(prefix="collectives-")
        os.ftruncate(handle, _SLOT * (size + 1))
        os.close(handle)
        return path

    def enter(self, state: int, what: str = "") -> None:
        """Say that this rank now does something else."""
        self.state, self.what = state, what
        self.write(what, -1)

    def write(self, text: str, peer: int) -> None:
        """Say what this rank is about to do, and which rank it waits for."""
        self.count += 1
        told = text.encode()[: _SLOT - _HEAD.size]
        self._put(self.rank, _HEAD.pack(self.count, self.state, os.getpid(), peer, len(told)), told)

    def about(self, text: str) -> None:
        """Say what is checked now."""
        told = text.encode()[: _SLOT - _HEAD.size]
        self._put(self.size, _HEAD.pack(0, self.read(self.size).state, 0, -1, len(told)), told)

    def claim(self) -> bool:
        """Return whether nobody has told the story yet; it is this process's to tell then."""
        state = self.read(self.size).state
        self.put_state(self.size, state or TELLING)
        return not state

    def put_state(self, slot: int, state: int) -> None:
        """Say what a rank is doing, in its place; or how far the telling is."""
        self.memory[_SLOT * slot + 8] = state

    def read(self, slot: int) -> Doing:
        """Return what a rank is doing."""
        start = _SLOT * slot
        count, state, process, peer, length = _HEAD.unpack_from(self.memory, start)
        text = self.memory[start + _HEAD.size : start + _HEAD.size + length]
        return Doing(count, state, process, peer, text.decode(errors="replace"))

    def all(self) -> list[Doing]:
        return [self.read(rank) for rank in range(self.size)]

    def _put(self, slot: int, head: bytes, text: bytes) -> None:
        start = _SLOT * slot
        self.memory[start : start + len(head) + len(text)] = head + text


# ------------------------------------------------------------------ the witness


def call_witness(path: str, size: int) -> None:
    """Start the witness, and return when it looks; it has removed the file then."""
    command = [sys.executable, "-S", "-E", __file__, path, str(size)]
    subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    while os.path.exists(path):
        time.sleep(0.005)


def _deaths(page: Page, path: str) -> Iterator[list[int]]:
    """Yield the ranks whose processes end, as they do; several where it cannot be told apart."""
    running = {rank: page.read(rank).process for rank in range(page.size)}
    handles: dict[int, int] = {}
    ends = select.poll()
    if hasattr(os, "pidfd_open"):  # Linux: no need to look again and again
        for process in running.values():
            with contextlib.suppress(ProcessLookupError):
                handles[process] = os.pidfd_open(process)
                ends.register(handles[process], select.POLLIN)
    os.unlink(path)
    while running:
        ends.poll(None if handles else 20)
        ended = [rank for rank, process in running.items() if _fate(process) != "runs"]
        for rank in ended:
            handle = handles.pop(running.pop(rank), None)
            if handle is not None:
                ends.unregister(handle)
        if ended:
            yield ended


def _fate(process: int) -> str:
    """Return ``runs``, ``killed``, ``ended``, or ``gone`` where its parent has seen to it."""
    if not os.path.isdir("/proc/self"):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return "gone"
        return "runs"
    try:
        with open(f"/proc/{process}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return "gone"
    if fields[0] not in "ZX":
        return "runs"
    return "killed" if int(fields[-1]) & 127 in (signal.SIGKILL, signal.SIGTERM) else "ended"


def _first(page: Page, ended: list[int]) -> int:
    """Return whose death it was that the others died of: launchers see to that one, then kill."""

    def guilt(rank: int) -> tuple[bool, bool]:
        doing = page.read(rank)
        return _fate(doing.process) == "killed", doing.peer >= 0

    return min(ended, key=guilt)


def _witness(path: str, size: int) -> None:
    page = Page(path, size, size)
    while any(each.process == 0 for each in page.all()):
        time.sleep(0.01)
    for ended in _deaths(page, path):
        dead = [rank for rank in ended if page.read(rank).state != LEFT]
        if not dead or page.read(size).state:
            continue
        rank = _first(page, dead)
        page.put_state(rank, DEAD)
        while page.read(size).state != TOLD:  # by a rank that is left, if it has the time
            if all(_fate(each.process) != "runs" for each in page.all()):
                case, _, command = page.read(size).text.partition("\n")
                print(f"{case}\n{death(page, rank)}\n    again: {command}", flush=True)
                return
            time.sleep(0.01)


def death(page: Page, rank: int) -> str:
    """Say that a rank has died, and where."""
    return f"rank {rank} has died: {page.read(rank).text or 'between two calls'}"


if __name__ == "__main__":
    _witness(sys.argv[1], int(sys.argv[2]))
