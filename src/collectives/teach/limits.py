"""What a process may no longer do once it has locked itself in: the walls of the sandbox.

Everywhere: memory, processor time, file size, open files. On Linux also: no new process, no other
program, no signal to others, no socket (a seccomp filter), and no file written, made or removed
outside of given folders (Landlock). `guards` says which of these this machine has.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import struct
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

MEMORY: Final = 1 << 30
"""Bytes of address space of one rank of a submission."""

PROCESSOR: Final = 60
"""Seconds of processor time of one rank, over all its runs."""


def limit(*, memory: int = MEMORY, processor: int = PROCESSOR, data: int = 0) -> None:
    """Limit what this process may take; a limit that is lower already stays.

    Parameters
    ----------
    memory, processor : int
        Bytes of address space, and seconds.
    data : int
        Bytes of private memory besides what it has now, on Linux; 0 for no limit.
    """
    wanted = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: processor,
        resource.RLIMIT_FSIZE: 64 << 20,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
    }
    if data and os.path.exists("/proc/self/statm"):
        pages = int(Path("/proc/self/statm").read_text().split()[5])
        wanted[resource.RLIMIT_DATA] = pages * resource.getpagesize() + data
    for name, most in wanted.items():
        _, hard = resource.getrlimit(name)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS does not know all of them
            resource.setrlimit(name, (most, most))


def lock_in(writable: Sequence[str] = (), *, mpi: bool = False) -> None:
    """Give up for good what a submission has no need of; what the system lacks is left out.

    Parameters
    ----------
    writable : sequence of str
        Folders and files that may be written to.
    mpi : bool
        Whether an MPI library is to work: it connects to other processes.
    """
    if not sys.platform.startswith("linux"):
        return
    confine_files(writable)
    _forbid_calls(ctypes.CDLL(None), _FORBIDDEN if mpi else _FORBIDDEN | _NOT_FOR_MPI)


@cache
def guards() -> tuple[str, ...]:
    """Return the guards of this machine: ``limits``, ``files``, ``processes``.

    Found out in a process that locks itself in and tries.
    """
    found = ["limits"]
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            lock_in()
            for name, act in (("files", _make_folder), ("processes", _fork)):
                try:
                    act()
                except OSError:
                    os.write(writer, f"{name} ".encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as said:
        found += said.read().split()
    return tuple(found)


def _make_folder() -> None:
    os.rmdir(tempfile.mkdtemp(prefix="collectives-guard-"))


def _fork() -> None:
    if not os.fork():
        os._exit(0)


# ------------------------------------------------------------------ files (Landlock)

_PR_SET_NO_NEW_PRIVS = 38
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_WRITE_TO_FILE, _TRUNCATE = 1 << 1, 1 << 14
_CHANGES = sum(1 << bit for bit in (1, *range(4, 13)))
"""Write to a file; remove a folder or file; make a node of any kind."""


def confine_files(writable: Sequence[str]) -> None:
    """Let this process, and whatever it starts, write to given places only."""
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    version = libc.syscall(_CREATE, None, 0, 1)
    if version < 1:
        return
    changes = _CHANGES | (_TRUNCATE if version >= 3 else 0)
    attributes = struct.pack("<Q", changes)
    rules = libc.syscall(_CREATE, attributes, len(attributes), 0)
    for path in writable:
        place = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        allowed = changes if os.path.isdir(path) else changes & (_WRITE_TO_FILE | _TRUNCATE)
        libc.syscall(_ADD, rules, 1, struct.pack("<Qi", allowed, place), 0)
        os.close(place)
    libc.syscall(_RESTRICT, rules, 0)
    os.close(rules)


# ------------------------------------------------------------------ system calls (seccomp)

_ARCHITECTURES: Final = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

_FORBIDDEN: Final[dict[str, tuple[int, int | None]]] = {  # on x86_64, on aarch64
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "kill": (62, 129), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424),
    "setsid": (112, 157), "setpgid": (109, 154), "io_uring_setup": (425, 425),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
}  # fmt: skip

_NOT_FOR_MPI: Final[dict[str, tuple[int, int | None]]] = {
    "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "shmget": (29, 194),
    "pidfd_getfd": (438, 438), "prlimit64": (302, 261),
}  # fmt: skip

_CLONE, _CLONE3 = (56, 220), 435
_CLONE_THREAD = 0x10000
_LOAD, _EQUAL, _AT_LEAST, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050001, 0x80000000  # refuse: EPERM
_UNKNOWN = 0x00050026  # ENOSYS: the C library then tries an older call


def _forbid_calls(libc: Any, calls: Mapping[str, tuple[int, int | None]]) -> None:
    """Let the kernel refuse calls that make processes, run programs or reach other processes."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        return
    architecture, column = _ARCHITECTURES[machine]
    numbers = [number for row in calls.values() if (number := row[column]) is not None]
    program = [
        (_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0), (_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _KILL),
        (_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _UNKNOWN),
    ]  # fmt: skip
    for number in numbers:
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    program += [  # clone is for threads only
        (_EQUAL, 0, 3, _CLONE[column]), (_LOAD, 0, 0, 16), (_BITS, 1, 0, _CLONE_THREAD),
        (_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW),
    ]  # fmt: skip
    code = b"".join(struct.pack("<HBBI", *step) for step in program)
    memory = ctypes.create_string_buffer(code)
    head = struct.pack("@HxxxxxxQ", len(program), ctypes.addressof(memory))
    libc.prctl(22, 2, ctypes.c_char_p(head), 0, 0)
