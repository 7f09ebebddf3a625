"""Arrays in files that anybody may have written: read without pickle, refused with a reason.

A file is opened only where it is a plain file below the set's folder, and read only where its
header says exactly what is expected.
"""

from __future__ import annotations

import ast
import hashlib
import os
import stat
from pathlib import Path
from typing import Any, Final

import numpy as np

from collectives.comm import Array, in_mpi
from collectives.dtypes import number_type

LARGEST_HEADER: Final = 10_000
"""Bytes of a ``.npy`` header that are read; one for a flat array has 128."""


class WrongFileError(ValueError):
    """A file is not what it should be; the message says which and why."""


def stored_as(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of the elements in a file: bfloat16 is stored as the uint16 of its bits.

    Examples
    --------
    >>> stored_as(np.dtype(np.float32)).str
    '<f4'
    """
    return (dtype if in_mpi(dtype) else np.dtype(np.uint16)).newbyteorder("<")


def save(file: Path, values: Array) -> str:
    """Write a flat array and return the SHA-256 of the file."""
    stored = stored_as(values.dtype)
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "xb") as stream:
        plain = values if in_mpi(values.dtype) else values.view(stored)
        np.lib.format.write_array(stream, plain.astype(stored, copy=False), allow_pickle=False)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def load(folder: Path, place: str, dtype: str, size: int, sha256: str = "") -> Array:
    """Return the flat array of `size` elements in a file; WrongFileError says what is wrong.

    FileNotFoundError where there is no such file. With `sha256`, the file must be as it was.
    """
    wanted = stored_as(number_type(dtype))
    data = read(folder, place, most=LARGEST_HEADER + size * wanted.itemsize)
    if sha256 and hashlib.sha256(data).hexdigest() != sha256:
        raise WrongFileError(f"{place} was changed since it was written: its SHA-256 differs")
    elements = _elements(place, data, wanted, size)
    native = elements.astype(wanted.newbyteorder("="), copy=True)
    return native.view(number_type(dtype))


def read(folder: Path, place: str, most: int) -> bytes:
    """Return the contents of a plain file below `folder`, of `most` bytes at most."""
    try:
        real = (folder / place).resolve()
        if not real.is_relative_to(folder.resolve()):
            raise WrongFileError(f"{place} leads out of {folder}")
        # Not to wait for a pipe, and not to follow a link put there since.
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise
    except (OSError, RuntimeError) as error:  # links in a circle are the latter, to older Pythons
        raise WrongFileError(f"{place} cannot be read: {error}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise WrongFileError(f"{place} is no plain file")
        if status.st_size > most:
            raise WrongFileError(f"{place} has {status.st_size} bytes, wants at most {most}")
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read(most + 1)
    finally:
        os.close(descriptor)


def _elements(place: str, data: bytes, wanted: np.dtype[Any], size: int) -> Array:
    """Return the elements of a ``.npy`` file, which must be flat and of one type."""
    version, start = _version(place, data)
    length = int.from_bytes(data[8:start], "little")
    header = data[start : start + length]
    if len(header) < length or length > LARGEST_HEADER:
        raise WrongFileError(f"{place} has no header of {length} bytes")
    dtype, order, shape = _described(place, header, version)
    if dtype.byteorder == ">":
        raise WrongFileError(f"{place} is big-endian, wants {wanted.str}")
    if dtype != wanted:
        raise WrongFileError(f"{place} is {dtype}, wants {wanted.newbyteorder('=')}")
    if shape != (size,):
        raise WrongFileError(f"{place} has shape {shape}, wants {(size,)}")
    if order:
        raise WrongFileError(f"{place} is in Fortran order, wants C order")
    rest = len(data) - start - length
    if rest != size * wanted.itemsize:
        what = "is cut off" if rest < size * wanted.itemsize else "goes on after its elements"
        raise WrongFileError(f"{place} {what}: {rest} bytes, wants {size * wanted.itemsize}")
    return np.frombuffer(data, wanted, size, start + length)


def _version(place: str, data: bytes) -> tuple[int, int]:
    """Return the version of the format, and where the header starts."""
    if data[:6] != b"\x93NUMPY" or len(data) < 12 or data[6] not in (1, 2, 3):
        raise WrongFileError(f"{place} is no .npy file")
    return data[6], 10 if data[6] == 1 else 12


def _described(place: str, header: bytes, version: int) -> tuple[np.dtype[Any], bool, Any]:
    """Return type, order and shape from a header, which is a literal and nothing else."""
    try:
        said = ast.literal_eval(header.decode("utf-8" if version == 3 else "latin-1"))
        if not isinstance(said, dict) or said.keys() != {"descr", "fortran_order", "shape"}:
            raise ValueError("wants descr, fortran_order and shape")
        if not isinstance(said["descr"], str):
            raise ValueError(f"descr is {said['descr']!r}")
        dtype = np.dtype(said["descr"])
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        text = str(error).partition("\n")[0][:100]
        raise WrongFileError(f"{place} has a header that says nothing: {text}") from None
    return dtype, bool(said["fortran_order"]), said["shape"]
