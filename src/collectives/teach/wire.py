"""What travels between the grader and a rank of a submission: JSON and plain arrays.

Nothing that is read is ever executed: no pickles, and sizes are checked before memory is taken.
"""

from __future__ import annotations

import json
import math
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from collectives.comm import Array

MOST_WORDS: Final = 1 << 20
"""Bytes of the JSON part of one packet."""

MOST_DATA: Final = 1 << 26
"""Bytes of the arrays of one packet."""

_SIZES = struct.Struct("<II")


class BrokenWireError(Exception):
    """The other side is gone, or says what nobody would."""


class SilenceError(BrokenWireError):
    """Nothing came for as long as one was ready to wait."""


class Wire:
    """One end of a connection."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end

    def send(self, words: dict[str, Any], arrays: Sequence[Array] = ()) -> None:
        """Send words and arrays."""
        text = json.dumps({"w": words, "a": [[a.dtype.str, a.size] for a in arrays]}).encode()
        data = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
        try:
            self.end.sendall(_SIZES.pack(len(text), len(data)) + text + data)
        except OSError as error:
            raise BrokenWireError(str(error)) from error

    def receive(self, patience: float = math.inf) -> tuple[dict[str, Any], list[Array]]:
        """Return the next words and arrays; SilenceError if they do not come in time."""
        until = time.monotonic() + patience
        words, data = _SIZES.unpack(self._read(_SIZES.size, until))
        if words > MOST_WORDS or data > MOST_DATA:
            raise BrokenWireError(f"a packet of {words} and {data} bytes")
        try:
            parts = json.loads(self._read(words, until))
            rest = memoryview(self._read(data, until))
            arrays = []
            for name, size in parts["a"]:
                dtype = np.dtype(str(name))
                if dtype.hasobject or not isinstance(size, int) or size < 0:
                    raise BrokenWireError(f"an array of {size} {dtype}")
                arrays.append(np.frombuffer(rest[: size * dtype.itemsize], dtype).copy())
                rest = rest[size * dtype.itemsize :]
            return dict(parts["w"]), arrays
        except (ValueError, TypeError, KeyError, RecursionError, MemoryError) as error:
            raise BrokenWireError(f"a packet that cannot be read: {error}") from error

    def _read(self, size: int, until: float) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            left = until - time.monotonic()
            if left <= 0:
                raise SilenceError("nothing came")
            self.end.settimeout(None if left == math.inf else left)
            try:
                part = self.end.recv(min(size - len(parts), 1 << 20))
            except TimeoutError:
                raise SilenceError("nothing came") from None
            except OSError as error:
                raise BrokenWireError(str(error)) from error
            if not part:
                raise BrokenWireError("the other side is gone")
            parts += part
        return bytes(parts)

    def close(self) -> None:
        self.end.close()
