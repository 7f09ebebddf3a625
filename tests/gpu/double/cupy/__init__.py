"""A double of CuPy for tests without a GPU: what this package uses of it, on the stand-in's arrays.

On PYTHONPATH it is found in place of CuPy. What CuPy does later is done later here too: kernels and
copies when their stream is synchronised. Signatures and errors are those of CuPy 14.
"""

from types import SimpleNamespace

import numpy as np

from collectives.gpu.stand_in import GPU, DeviceArray
from cupy import cuda

__version__ = "14 (a double)"

TYPES = "?bBhHiIlLqQefdFD" + "E"  # the last is bfloat16
NAMES_OF_BFLOAT16 = {"E": "bfloat16"}


class ndarray(DeviceArray):
    """An array on a device, with CuPy's own ways to and from the host."""

    __slots__ = ()

    @property
    def device(self):
        return cuda.Device(self.memory.device)

    @property
    def data(self):
        """Where the array is; kernels may be given that before what was launched is done."""
        return SimpleNamespace(ptr=self.contents.ctypes.data if self.size else 0)

    def get(self, stream=None, order="C", out=None, blocking=True):
        check(out, self)
        if not self.flags.c_contiguous:
            raise RuntimeError("`out` cannot be specified when copying to non-contiguous ndarray")
        with self.device:
            on = stream or cuda.get_current_stream()
            on.launch([self.memory], lambda: fill(out, self.contents))
            GPU.copies += 1
            if stream is None and blocking:
                on.synchronize()
        return out

    def set(self, arr, stream=None):
        check(arr, self)
        with self.device:
            on = stream or cuda.get_current_stream()
            on.launch([self.memory], lambda: fill(self.contents, arr))
            GPU.copies += 1


def check(host, array):
    if type(host) is not np.ndarray:
        raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
    if (host.dtype, host.shape) != (array.dtype, array.shape):
        got = f"{host.dtype}{host.shape}"
        raise ValueError(f"Shape mismatch. {got}, {array.dtype}{array.shape}")


def fill(to, values):
    to[...] = values


def empty(shape, dtype=float):
    dtype = np.dtype(dtype)
    known = dtype.char in TYPES and dtype.name == NAMES_OF_BFLOAT16.get(dtype.char, dtype.name)
    if not known or not dtype.isnative:
        raise ValueError(f"Unsupported dtype {dtype}")
    return ndarray.empty(shape, dtype)


def array(values):
    """Copy host values as they are now to the current device."""
    made, values = empty(values.shape, values.dtype), values.copy()
    made.set(values)
    return made
