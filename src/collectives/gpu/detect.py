"""Find out whether the MPI library takes buffers in GPU memory, and why we think so."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from collectives.launch import library_name

VARIABLE: Final = "COLLECTIVES_GPU_AWARE"

HOW_TO: Final = (
    "To get a GPU-aware MPI: conda env create -f environment.yml (conda-forge's Open MPI, UCX);\n"
    "or load your site's module and build mpi4py with it: pip install --no-binary mpi4py mpi4py"
)

Wish: TypeAlias = bool | Literal["require"] | None
"""Hand device memory to MPI or not, refuse where MPI does not take it, or find out (None)."""


@dataclass(frozen=True)
class Clue:
    """One place that was looked at.

    Attributes
    ----------
    source : str
        What was asked.
    answer : str
        What it said.
    aware : bool or None
        What follows from it; None where nothing does.
    """

    source: str
    answer: str
    aware: bool | None


@dataclass(frozen=True)
class Awareness:
    """Whether MPI takes device memory, and the clues, the decisive one first."""

    aware: bool
    clues: tuple[Clue, ...]

    @property
    def reason(self) -> str:
        return f"{self.clues[0].source} says {self.clues[0].answer}"


@cache
def awareness() -> Awareness:
    """Ask everything that can tell; what says yes is believed before what says no.

    A library may take device memory and not list it: MPICH before 5 names the kind ``cuda`` only
    where it was asked for.
    """
    clues = [memory_kinds(), library_query()]
    if clues[1].aware is None:
        clues.append(open_mpi_info())
    order = {True: 0, False: 1, None: 2}
    clues.sort(key=lambda clue: order[clue.aware])
    return Awareness(bool(clues[0].aware), tuple(clues))


def memory_kinds() -> Clue:
    """Ask MPI 4.1's info key, which lists the kinds of memory that may be used.

    The communicator is asked, and no session: what a session grants holds for communicators made
    from it, and Open MPI 5.0 answers with whatever was asked for.
    """
    from mpi4py import MPI

    key = "mpi_memory_alloc_kinds"
    info = MPI.COMM_WORLD.Get_info()
    kinds = info.Get(key)
    info.Free()
    if kinds is None:
        return Clue(key, "nothing (MPI 4.1 brings it)", None)
    return Clue(key, kinds, names_device_memory(kinds))


def names_device_memory(kinds: str) -> bool:
    """Tell whether memory of CUDA devices is among `kinds`, each with what it is restricted to.

    Examples
    --------
    >>> names_device_memory("mpi,system,cuda"), names_device_memory("system,cuda:device:managed")
    (True, True)
    >>> names_device_memory("mpi:alloc_mem,system,cuda:host,rocm")
    False
    """
    named = [kind.strip().lower().split(":") for kind in kinds.split(",")]
    return any(kind == "cuda" and (not only or "device" in only) for kind, *only in named)


def library_query() -> Clue:
    """Call the function that Open MPI has for the question, and MPICH too."""
    from mpi4py import MPI

    name = "MPIX_Query_cuda_support"
    try:  # through mpi4py's own module, which was linked with the library
        query = getattr(ctypes.CDLL(MPI.__file__), name)
    except (OSError, AttributeError):
        return Clue(name, "nothing (there is no such function)", None)
    answer = int(query())
    return Clue(name, str(answer), answer == 1)


def open_mpi_info() -> Clue:
    """Ask Open MPI's command whether CUDA is built in and switched on."""
    from mpi4py import MPI

    source, command = "ompi_info", shutil.which("ompi_info")
    if MPI.get_vendor()[0] != "Open MPI" or command is None:
        return Clue(source, "nothing (there is no such command)", None)
    try:
        listed = subprocess.run(
            [command, "--parsable", "--all"], capture_output=True, text=True, check=True, timeout=30
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return Clue(source, f"nothing ({type(error).__name__})", None)
    built = ":mpi_built_with_cuda_support:value:true" in listed
    built = built or ":opal_built_with_cuda_support:value:true" in listed
    on = ":opal_cuda_support:value:false" not in listed
    answer = f"built with CUDA: {_yes(built)}, switched on: {_yes(built and on)}"
    return Clue(source, answer, built and on)


def override() -> Wish:
    """Return what the environment variable asks for."""
    wish: dict[str, Wish] = {"": None, "0": False, "1": True, "require": "require"}
    text = os.environ.get(VARIABLE, "")
    if text not in wish:
        raise ValueError(f"{VARIABLE} is {text!r}, wants 0, 1 or require")
    return wish[text]


def takes_device_memory(wish: Wish = None) -> bool:
    """Decide whether MPI is handed device memory.

    What the program says goes before what the environment says, and that before what the library
    says. ValueError where it is required and the library does not take it.
    """
    wish = override() if wish is None else wish
    if isinstance(wish, bool):
        return wish
    found = awareness()
    if wish == "require" and not found.aware:
        raise ValueError(f"{library_name()} does not take GPU memory: {found.reason}")
    return found.aware


def _yes(value: Any) -> str:
    return "yes" if value else "no"
