"""What can be checked: registered algorithms, a function of one's own, the MPI library, and more.

A `Target` gives, for every collective that it has, a `Subject`: a function with the project's
signature and what is claimed of it. Targets outside of Python stand in modules of their own, which
are loaded when they are asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from collectives.comm import in_mpi
from collectives.launch import under_mpi
from collectives.library import Mode
from collectives.op import IN_MPI, PREDEFINED
from collectives.oracle.cases import Case
from collectives.oracle.promises import Subject
from collectives.oracle.trials import dtype_of
from collectives.oracle.worlds import SIMULATED, World
from collectives.registry import COLLECTIVES, Algorithm, algorithms, find, known_collective


class Target(Protocol):
    """Something whose collectives can be checked.

    Attributes
    ----------
    name : str
        What reports and command lines call it.
    """

    @property
    def name(self) -> str: ...

    def subjects(self, collective: str) -> Sequence[Subject]:
        """Return what there is to check of a collective, or of ``ALL``; ValueError if nothing."""

    def world(self, patience: float) -> World:
        """Return where it runs; ranks that stand still for `patience` seconds are taken to hang."""


@dataclass(frozen=True)
class OfPython:
    """Functions of this process: registered algorithms, or the user's own."""

    name: str
    functions: tuple[Subject, ...]

    def subjects(self, collective: str) -> Sequence[Subject]:
        return [x for x in self.functions if collective in ("ALL", x.collective)]

    def world(self, patience: float) -> World:
        return here(patience, is_python=True)


@dataclass(frozen=True)
class MpiLibrary:
    """The collectives of the MPI library under which this process runs."""

    mode: Mode = "blocking"
    name: str = "mpi"

    def subjects(self, collective: str) -> Sequence[Subject]:
        if not under_mpi():
            raise ValueError("target mpi is the MPI library: mpirun -n 7 collectives check ...")
        chosen = COLLECTIVES if collective == "ALL" else (known_collective(collective),)
        return [self._subject(each) for each in chosen]

    def world(self, patience: float) -> World:
        return here(patience, is_python=False)

    def _subject(self, collective: str) -> Subject:
        entry = replace(find(collective, "builtin"), variants=())
        if self.mode != "blocking":
            entry = replace(entry, function=partial(entry.function, mode=self.mode))
        return Subject(collective, self.mode, entry.function, entry, not_in_mpi)


def not_in_mpi(case: Case) -> str | None:
    """Return why MPI does not define a case; None if it does."""
    dtype = dtype_of(case)
    predefined = case.reduces and PREDEFINED.get(case.op.name) is case.op and in_mpi(dtype)
    if predefined and case.op.name not in IN_MPI.get(dtype.kind, PREDEFINED):
        return f"MPI has no {case.op.name} of {dtype}"
    return None


def here(patience: float, *, is_python: bool) -> World:
    """Return the world of this process: the ranks of its MPI job, or simulated ones."""
    if not under_mpi():
        return SIMULATED
    from collectives.oracle.mpi_world import OnMpi

    return OnMpi(patience=patience, is_python=is_python)


# ------------------------------------------------------------------ by name


TARGETS: Final = {
    "mpi": "collectives.oracle.forced:library",
    "torch": "collectives.oracle.targets_torch:Torch",
    "nccl": "collectives.oracle.targets_nccl:Nccl",
    "clib": "collectives.oracle.targets_clib:CLibrary",
    "vectors": "collectives.oracle.vectors:Vectors",
}
"""Where the targets stand that ``--target NAME:...`` names; what follows the name is given them."""


def target_named(text: str) -> Target:
    """Return the target that ``--target`` names, such as ``mpi`` or ``torch:gloo``."""
    name, _, rest = text.partition(":")
    if name not in TARGETS:
        raise ValueError(f"no target {name!r}; there are {', '.join(TARGETS)}")
    module, _, kind = TARGETS[name].partition(":")
    make = getattr(importlib.import_module(module), kind)
    target: Target = make(rest) if rest else make()
    return target


def functions(collective: str, name: str) -> OfPython:
    """Return what is meant: registered algorithms, or a function of a module or file.

    Under MPI the built-ins are among the algorithms; in simulation there are none.
    """
    label = f"{collective} {name}"
    if collective == "ALL" or name == "ALL":
        chosen = algorithms(None if collective == "ALL" else collective)
        return OfPython(label, tuple(map(registered, chosen)))
    known_collective(collective)
    if ":" not in name:
        return OfPython(label, (registered(find(collective, name)),))
    return OfPython(label, (Subject(collective, name, _loaded(name)),))


def registered(entry: Algorithm) -> Subject:
    """Return a registered algorithm as something to check."""
    builtin = entry.kind == "built-in"
    cannot = _only_under_mpi if builtin else (lambda case: None)
    return Subject(entry.collective, entry.name, entry.function, entry, cannot)


def _only_under_mpi(case: Case) -> str | None:
    return not_in_mpi(case) if under_mpi() else "built-ins are the MPI library's: use mpirun"


def _loaded(name: str) -> Callable[..., None]:
    """Return the function that ``module:function`` or ``file.py:function`` names."""
    place, _, function = name.rpartition(":")
    try:
        module = _module(place)
    except Exception as error:
        raise ValueError(f"{place} cannot be loaded: {type(error).__name__}: {error}") from error
    found = getattr(module, function, None)
    if not callable(found):
        raise ValueError(f"{place} has no function {function!r}")
    return found  # type: ignore[no-any-return]


def _module(place: str) -> Any:
    if not place.endswith(".py"):
        sys.path.insert(0, "")
        return importlib.import_module(place)
    if not Path(place).is_file():
        raise FileNotFoundError(f"there is no file {place}")
    spec = importlib.util.spec_from_file_location(Path(place).stem, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
