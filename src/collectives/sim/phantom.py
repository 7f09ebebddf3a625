"""Arrays that have a size but no data, for runs too large to allocate."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import index
from types import SimpleNamespace
from typing import Any

import numpy as np
from greenlet import getcurrent

_FLAGS = SimpleNamespace(c_contiguous=True, f_contiguous=True, writeable=True)


class Phantom:
    """A flat array without contents: it can be cut, copied, sent and combined.

    Combining charges the simulated rank ``gamma`` seconds per byte. What is not listed here
    raises TypeError rather than pretend.

    Parameters
    ----------
    size : int
        Number of elements.
    dtype : dtype
        Their type, float64 where not given.

    Examples
    --------
    >>> a = Phantom(10, "float32")
    >>> a[4:].nbytes, np.empty_like(a).size
    (24, 10)
    """

    __slots__ = ("dtype", "nbytes", "size")
    flags = _FLAGS
    ndim = 1

    def __init__(self, size: int, dtype: Any = np.float64) -> None:
        self.size = size = index(size)
        if size < 0:
            raise ValueError(f"a Phantom has 0 elements or more; got {size}")
        self.dtype = dtype = np.dtype(dtype)
        self.nbytes = size * dtype.itemsize

    @property
    def shape(self) -> tuple[int]:
        return (self.size,)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"Phantom({self.size}, {self.dtype})"

    def __getitem__(self, key: slice) -> Phantom:
        try:
            start, stop, step = key.indices(self.size)
        except AttributeError:
            raise TypeError(f"a Phantom is cut by a slice; got {key!r}") from None
        if step != 1:
            raise TypeError(f"a Phantom is contiguous; got a slice with step {step}")
        return self._of(stop - start if stop > start else 0)

    def __setitem__(self, key: Any, value: Any) -> None:
        part = self.size if key is Ellipsis else self[key].size
        size = value.size if type(value) is Phantom else np.size(value)
        if size not in (part, 1):
            raise ValueError(f"cannot put {size} elements into {part}")

    def copy(self) -> Phantom:
        return self._of(self.size)

    def _of(self, size: int) -> Phantom:
        """Return `size` elements of this dtype, a size that needs no check."""
        other: Phantom = object.__new__(Phantom)
        other.size, other.dtype, other.nbytes = size, self.dtype, size * self.dtype.itemsize
        return other

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or ufunc.nout != 1:
            return NotImplemented
        (out,) = kwargs.pop("out", (None,))
        if kwargs:
            return NotImplemented
        for x in inputs if out is None else (*inputs, out):
            if type(x) is not Phantom or x.size != self.size or x.dtype != self.dtype:
                return NotImplemented
        dtype = _result_dtype(ufunc, self.dtype, None if out is None else out.dtype)
        charge = getattr(getcurrent(), "charge", None)
        if charge is not None:
            charge(self.nbytes)
        return Phantom(self.size, dtype) if out is None else out

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a Phantom has no data")

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        handler = _FUNCTIONS.get(function)
        return NotImplemented if handler is None else handler(*args, **kwargs)


@cache
def _result_dtype(ufunc: np.ufunc, dtype: np.dtype[Any], out: np.dtype[Any] | None) -> Any:
    """Return the dtype of the result; TypeError where there is none, or `out` cannot take it."""
    return ufunc.resolve_dtypes((*[dtype] * ufunc.nin, out))[-1]


def _empty_like(
    prototype: Phantom, dtype: Any = None, *, shape: int | tuple[int] | None = None
) -> Phantom:
    size = prototype.size if shape is None else int(np.prod(shape))
    return Phantom(size, prototype.dtype if dtype is None else dtype)


def _copyto(target: Phantom, source: Phantom) -> None:
    target[:] = source


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.empty_like: _empty_like,
    np.copyto: _copyto,
    np.may_share_memory: lambda a, b: a is b,
    np.size: lambda a: a.size,
}
