"""Reduction operations: `Op`, the predefined ones, and the way to and from ``MPI.Op``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from collectives.comm import Array, in_mpi, on_device
from collectives.library import as_elements


@cache
def _works_on(ufunc: np.ufunc, dtype: np.dtype[Any]) -> bool:
    try:
        ufunc.resolve_dtypes((dtype, dtype, dtype))
    except TypeError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Op:
    """An associative operation, applied element by element.

    Parameters
    ----------
    name : str
        What error messages and tables call it.
    ufunc : callable
        A NumPy ufunc, or any ``f(lower, higher)`` that returns the combined array. `lower` holds
        the operand of the lower ranks.
    commutative : bool
        Whether ``f(a, b)`` equals ``f(b, a)``. If not, ranks are combined in ascending order.
    identity : optional
        The value that changes nothing, where there is one.

    Examples
    --------
    >>> import numpy as np
    >>> first = Op("FIRST", lambda lower, higher: lower, commutative=False)
    >>> out = np.zeros(2, int)
    >>> first(np.array([1, 2]), np.array([3, 4]), out=out).tolist()
    [1, 2]
    """

    name: str
    ufunc: Callable[..., Any]
    commutative: bool = True
    identity: Any = None

    def __call__(self, lower: Array, higher: Array, out: Array) -> Array:
        """Write ``lower op higher`` to `out`, which may be either operand, and return it."""
        if isinstance(self.ufunc, np.ufunc):
            return self.ufunc(lower, higher, out=out)  # type: ignore[no-any-return]
        out[...] = self.ufunc(lower, higher)
        return out

    def __repr__(self) -> str:
        return f"Op({self.name})"

    def check(self, dtype: np.dtype[Any]) -> None:
        """Raise ValueError where the operation does not exist for `dtype`."""
        if isinstance(self.ufunc, np.ufunc) and not _works_on(self.ufunc, dtype):
            raise ValueError(f"op {self.name} does not work on {dtype}")

    @contextmanager
    def mpi(self, dtype: np.dtype[Any]) -> Iterator[Any]:
        """Lend the ``MPI.Op`` with this meaning on elements of `dtype`."""
        from mpi4py import MPI

        if PREDEFINED.get(self.name) is self and in_mpi(dtype):
            if self.name not in IN_MPI.get(dtype.kind, PREDEFINED):
                raise ValueError(f"op {self.name} on {dtype} does not exist in MPI, only in NumPy")
            yield getattr(MPI, self.name)
            return

        def combine(inbuf: Any, inoutbuf: Any, _datatype: Any) -> None:
            lower, higher = np.frombuffer(inbuf, dtype), np.frombuffer(inoutbuf, dtype)
            self(lower, higher, out=higher)

        made = MPI.Op.Create(combine, commute=self.commutative)
        try:
            yield made
        finally:
            made.Free()


SUM: Final = Op("SUM", np.add, identity=0)
PROD: Final = Op("PROD", np.multiply, identity=1)
MIN: Final = Op("MIN", np.minimum)
MAX: Final = Op("MAX", np.maximum)
LAND: Final = Op("LAND", np.logical_and, identity=True)
LOR: Final = Op("LOR", np.logical_or, identity=False)
LXOR: Final = Op("LXOR", np.logical_xor, identity=False)
BAND: Final = Op("BAND", np.bitwise_and, identity=-1)
BOR: Final = Op("BOR", np.bitwise_or, identity=0)
BXOR: Final = Op("BXOR", np.bitwise_xor, identity=0)

PREDEFINED: Final = {op.name: op for op in (SUM, PROD, MIN, MAX, LAND, LOR, LXOR, BAND, BOR, BXOR)}
"""The operations that MPI has too, under MPI's names."""

IN_MPI: Final = {
    "b": {"LAND", "LOR", "LXOR"}, "f": {"SUM", "PROD", "MIN", "MAX"}, "c": {"SUM", "PROD"},
}  # fmt: skip
"""Kinds of dtype for which MPI defines only these (MPI 4.1, section 6.9.2); NumPy defines more."""


@dataclass(frozen=True, eq=False, repr=False)
class _MadeByMPI(Op):
    """An operation made with ``MPI.Op.Create``: combined by the MPI library itself."""

    handle: Any = None

    def __call__(self, lower: Array, higher: Array, out: Array) -> Array:
        if on_device(out):
            from collectives.gpu import on_host

            return on_host(self, lower, higher, out)
        result = out if out is higher else higher.copy()
        if in_mpi(out.dtype):
            self.handle.Reduce_local(lower, result)
        else:
            with as_elements(out.dtype, lower, result) as specified:
                self.handle.Reduce_local(*specified)
        if result is not out:
            out[...] = result
        return out

    @contextmanager
    def mpi(self, dtype: np.dtype[Any]) -> Iterator[Any]:
        yield self.handle


def as_op(op: Any) -> Op:
    """Return `op`, an `Op` or an ``MPI.Op``, as an `Op`."""
    if isinstance(op, Op):
        return op
    if type(op).__module__ == "mpi4py.MPI" and hasattr(op, "Is_commutative"):
        from mpi4py import MPI

        for name, known in PREDEFINED.items():
            if op == getattr(MPI, name):
                return known
        if not op.is_predefined:
            return _MadeByMPI("user-made MPI.Op", op, op.Is_commutative(), handle=op)
        raise ValueError(f"op is {op!r}, which has no meaning on plain arrays")
    raise ValueError(f"op is {op!r}, wants a collectives.Op or an MPI.Op")
