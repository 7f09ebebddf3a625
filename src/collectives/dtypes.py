"""Types of numbers by name: those of NumPy, bfloat16 and every float8 of `ml_dtypes`."""

from __future__ import annotations

from typing import Any

import numpy as np

from collectives.comm import in_mpi


def number_type(name: str) -> np.dtype[Any]:
    """Return the type of number called `name`; ValueError says what is wrong with it.

    Examples
    --------
    >>> number_type("float32")
    dtype('float32')
    """
    small = name.startswith(("bfloat", "float8"))
    if small:
        try:
            import ml_dtypes  # noqa: F401  (makes NumPy know the names)
        except ImportError:
            raise ValueError(f"{name} needs ml_dtypes: pip install ml_dtypes") from None
    try:
        dtype = np.dtype(name)
    except TypeError:
        raise ValueError(f"NumPy has no type {name!r}" + ", nor has ml_dtypes" * small) from None
    if not small and (dtype.kind not in "biufc" or not dtype.isnative):
        raise ValueError(f"dtype is {dtype}, wants a number type in native byte order")
    return dtype


def finfo(dtype: np.dtype[Any]) -> Any:
    """Return the limits of a floating-point type, as `numpy.finfo` does for those of NumPy."""
    if in_mpi(dtype):
        return np.finfo(dtype)
    import ml_dtypes

    theirs: Any = ml_dtypes.finfo
    return theirs(dtype)
