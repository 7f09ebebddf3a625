"""``clib:PATH/lib.so:SYMBOL,...``: C functions with the signatures of MPI's collectives.

They are called under mpirun with the handles of the MPI library that mpi4py has loaded, so the C
library has to be compiled for that one. A symbol says by its name which collective it is
(``my_Allreduce``, ``ring_reduce_scatter_block``, ``Gatherv``), or is told: ``allreduce=ring``.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np

from collectives import arguments
from collectives.comm import in_mpi
from collectives.launch import under_mpi
from collectives.op import PREDEFINED
from collectives.oracle.cases import Case
from collectives.oracle.promises import Subject
from collectives.oracle.targets import here, not_in_mpi
from collectives.oracle.trials import dtype_of
from collectives.oracle.worlds import World
from collectives.registry import COLLECTIVES

SIGNATURES: Final = {
    "barrier": "comm",
    "bcast": "recv count type root comm",
    "reduce": "send recv count type op root comm",
    "allreduce": "send recv count type op comm",
    "scan": "send recv count type op comm",
    "exscan": "send recv count type op comm",
    "scatter": "send block type recv block type root comm",
    "scatterv": "send counts displs type recv own type root comm",
    "gather": "send block type recv block type root comm",
    "gatherv": "send own type recv counts displs type root comm",
    "allgather": "send block type recv block type comm",
    "allgatherv": "send own type recv counts displs type comm",
    "alltoall": "send block type recv block type comm",
    "alltoallv": "send counts displs type recv recvcounts recvdispls type comm",
    "reduce_scatter": "send recv counts type op comm",
    "reduce_scatter_block": "send recv block type op comm",
    "neighbor_allgather": "send block type recv block type comm",
    "neighbor_alltoall": "send block type recv block type comm",
}
"""The arguments of every function, in MPI's order. A ``block`` is one of p equal ones, ``own`` the
size of this rank's block."""

_BY_COUNTS: Final = ("scatterv", "gatherv", "allgatherv", "alltoallv", "reduce_scatter")


class CLibrary:
    """C functions of a shared library.

    Parameters
    ----------
    rest : str
        ``PATH:SYMBOL,...``, what follows ``clib:`` on the command line.
    """

    def __init__(self, rest: str = "") -> None:
        path, _, symbols = rest.rpartition(":")
        if not path or not symbols:
            raise ValueError(f"clib:{rest}: wants clib:path/to/lib.so:symbol,...")
        if not Path(path).is_file():
            raise ValueError(f"there is no file {path}")
        self.name, self.path = f"clib:{rest}", str(Path(path).resolve())
        self.symbols = symbols.split(",")

    def subjects(self, collective: str) -> Sequence[Subject]:
        """Return the functions that do what `collective` does, or all of them."""
        if not under_mpi():
            raise ValueError("a C library needs real MPI: mpirun -n 8 collectives check ...")
        found = [self._function(text, collective) for text in self.symbols]
        chosen = [x for x in found if collective in ("ALL", x.collective)]
        if not chosen:
            raise ValueError(f"{self.name} has no {collective}; a symbol says so by its name")
        return [Subject(x.collective, x.symbol, x, None, x.cannot, of_library=True) for x in chosen]

    def world(self, patience: float) -> World:
        return here(patience, is_python=False)

    def _function(self, text: str, collective: str) -> CFunction:
        said, _, symbol = text.rpartition("=")
        form = form_of(said or symbol)
        if form is None and len(self.symbols) == 1 and collective != "ALL":
            form = collective
        if form is None:
            raise ValueError(f"{symbol} is which collective? say so, such as allreduce={symbol}")
        try:
            getattr(ctypes.CDLL(self.path), symbol)
        except (OSError, AttributeError) as error:
            raise ValueError(f"{self.name}: {error}") from None
        return CFunction(self.path, symbol, form)


def form_of(name: str) -> str | None:
    """Return which of `SIGNATURES` a symbol has, by its name.

    Examples
    --------
    >>> form_of("my_Reduce_scatter_block"), form_of("ring_allgatherv"), form_of("AllReduce")
    ('reduce_scatter_block', 'allgatherv', 'allreduce')
    """
    plain = re.sub(r"[^a-z]", "", name.lower())
    known = {form.replace("_", ""): form for form in SIGNATURES}
    return next((known[x] for x in sorted(known, key=len, reverse=True) if x in plain), None)


@dataclass(frozen=True)
class CFunction:
    """One C function, called as the collective's functions of this project are."""

    path: str
    symbol: str
    form: str

    @property
    def __name__(self) -> str:
        return self.symbol

    @property
    def collective(self) -> str:
        """Which collective it is."""
        return max((name for name in COLLECTIVES if self.form.startswith(name)), key=len)

    def cannot(self, case: Case) -> str | None:
        """Return why a case is not asked of it."""
        dtype = dtype_of(case)
        if not in_mpi(dtype):
            return f"MPI has no {dtype}"
        if case.reduces and PREDEFINED.get(case.op.name) is case.op:
            undefined = not_in_mpi(case)
            if undefined:
                return undefined
        if case.counts is not None and self.form not in _BY_COUNTS:
            return f"{self.form} has blocks of one size"
        return None

    def __call__(self, comm: Any, *args: Any, **kwargs: Any) -> None:
        """Make the call; RuntimeError where it returns an error."""
        with _called(self.form, self.collective, comm, args, kwargs) as values:
            code = _loaded(self.path, self.symbol)(*values)
        if code != 0:
            raise RuntimeError(f"{self.symbol} returned {code}")


@cache
def _loaded(path: str, symbol: str) -> Any:
    return getattr(ctypes.CDLL(path), symbol)


# ------------------------------------------------------------------ the arguments in C


@contextmanager
def _called(form: str, collective: str, comm: Any, args: Any, kwargs: Any) -> Iterator[list[Any]]:
    """Lend the arguments that a C function of this form takes."""
    given = getattr(arguments, collective)(comm, *args, **kwargs)
    if collective == "barrier":
        yield [_handle(comm)]
        return
    values = _values(form, collective, comm, given) | _ignored(given, args)
    from mpi4py import MPI

    whole = given.get("recvbuf", given.get("buf"))
    dtype = (given["sendbuf"] if whole is None else whole).dtype
    values["type"] = _handle(MPI.Datatype.fromcode(dtype.char))
    values["comm"] = _handle(comm)
    if "op" not in given:
        yield [values[name] for name in SIGNATURES[form].split()]
        return
    with given["op"].mpi(dtype) as op:
        values["op"] = _handle(op)
        yield [values[name] for name in SIGNATURES[form].split()]


def _values(form: str, collective: str, comm: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return buffers, counts and root as C takes them."""
    sendbuf, recvbuf = given.get("sendbuf"), given.get("recvbuf", given.get("buf"))
    at_root = given.get("root", comm.rank) == comm.rank
    in_place = sendbuf is recvbuf and sendbuf is not None
    values: dict[str, Any] = {"send": _address(sendbuf), "recv": _address(recvbuf)}
    if in_place and at_root:
        values["recv" if collective == "scatter" else "send"] = _in_place()
    values["root"] = ctypes.c_int(given.get("root", 0))
    brought: Any = recvbuf if sendbuf is None else sendbuf
    values["count"] = ctypes.c_int(brought.size)
    if collective.startswith("neighbor"):
        blocks = len(comm.outedges) if collective.endswith("alltoall") else 1
        values["block"] = ctypes.c_int(brought.size // max(blocks, 1))
        return values
    counts = given.get("counts", given.get("sendcounts"))
    if counts is not None:
        values["own"] = values["block"] = ctypes.c_int(counts[comm.rank])
        values["counts"], values["displs"] = _table(counts)
    if "recvcounts" in given:
        values["recvcounts"], values["recvdispls"] = _table(given["recvcounts"])
    return values


def _ignored(given: dict[str, Any], args: Sequence[Any]) -> dict[str, Any]:
    """Return the addresses of arrays that mean nothing on this rank: not to be touched, either."""
    handed = zip(("send", "recv"), args, strict=False)
    return {
        name: _address(array)
        for name, array in handed
        if isinstance(array, np.ndarray) and given.get(f"{name}buf", array) is None
    }


def _table(counts: Sequence[int]) -> tuple[Any, Any]:
    """Return block sizes and displacements as arrays of C."""
    array = ctypes.c_int * len(counts)
    return array(*counts), array(*[*accumulate(counts, initial=0)][:-1])


def _address(buffer: np.ndarray[Any, Any] | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if buffer is None else buffer.ctypes.data)


def _in_place() -> ctypes.c_void_p:
    from mpi4py import MPI

    return ctypes.c_void_p(int(MPI.IN_PLACE))


def _handle(of: Any) -> Any:
    """Return a handle of mpi4py as C has it: an int with MPICH, a pointer with Open MPI."""
    from mpi4py import MPI

    while not isinstance(of, MPI.Comm | MPI.Datatype | MPI.Op):
        of = of.comm  # a communicator around another one
    kind = ctypes.c_int if MPI._sizeof(of) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p
    held: Any = kind.from_address(MPI._addressof(of))
    return kind(held.value)  # a copy: `of` may not live as long
