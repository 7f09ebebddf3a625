"""NVIDIA GPUs, through CuPy, which is imported when a `Cuda` is made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from collectives.comm import Array

MISSING: Final = (
    'CuPy is not installed: pip install "collectives[gpu-cuda12]" (CUDA 12) or '
    '"collectives[gpu-cuda13]" (CUDA 13), or conda env create -f environment.yml'
)


class Cuda:
    """The `gpu.Device` that CuPy makes of them. ValueError where there is no CuPy."""

    name = "cuda"

    def __init__(self) -> None:
        try:
            import cupy
        except ImportError as error:
            absent = error.name in ("cupy", "cupy_backends")
            why = error.__cause__ or error  # CuPy wraps it into a page of advice
            raise ValueError(MISSING if absent else f"CuPy does not load: {why}") from None
        self.cupy = cupy

    def count(self) -> int:
        try:
            number = int(self.cupy.cuda.runtime.getDeviceCount())
        except self.cupy.cuda.runtime.CUDARuntimeError as error:
            raise ValueError(f"CuPy {self.cupy.__version__} finds no GPU: {error}") from None
        if not number:
            raise ValueError(f"CuPy {self.cupy.__version__} finds no GPU")
        self._can_compile()
        return number

    def _can_compile(self) -> None:
        """Refuse a CuPy without NVRTC, which makes its kernels; its package lacks it."""
        try:
            self.cupy.cuda.nvrtc.getVersion()
        except Exception as error:  # of CuPy 13 another one than of CuPy 14
            why = str(error).strip().partition("\n")[0]
            raise ValueError(
                f"CuPy {self.cupy.__version__} finds no compiler for kernels ({why}): "
                'pip install "cupy-cuda12x[ctk]" (or cupy-cuda13x), or load your CUDA module'
            ) from None

    def model(self, number: int) -> str:
        """Return what the device is called, such as ``NVIDIA A100``."""
        return str(self.cupy.cuda.runtime.getDeviceProperties(number)["name"].decode())

    def current(self) -> int:
        return int(self.cupy.cuda.runtime.getDevice())

    def use(self, number: int) -> None:
        self.cupy.cuda.Device(number).use()

    def has(self, dtype: np.dtype[Any]) -> bool:
        if not dtype.isnative:  # CuPy 13 takes the bytes as they are
            return False
        try:
            self.cupy.empty(0, dtype)
        except (TypeError, ValueError):
            return False
        return True

    def where(self, array: Array) -> int:
        return int(array.device.id)  # type: ignore[attr-defined]

    def array(self, values: Array) -> Array:
        if not self.has(values.dtype):
            raise ValueError(f"CuPy {self.cupy.__version__} has no {values.dtype}")
        made = self.cupy.array(values)
        self.synchronize(made)
        return made  # type: ignore[no-any-return]

    def pinned(self, like: Array) -> Array:
        import cupyx

        if not like.size:
            return np.empty(like.shape, like.dtype)
        return cupyx.empty_pinned(like.shape, like.dtype)  # type: ignore[no-any-return]

    def fetch(self, array: Array, host: Array) -> None:
        if array.size:
            with self._stream(array) as stream:
                block = array if array.flags.c_contiguous else array.copy()  # CuPy copies no other
                block.get(stream=stream, out=host)  # type: ignore[attr-defined]

    def store(self, host: Array, array: Array) -> None:
        if array.size:
            with self._stream(array) as stream:
                array.set(host, stream=stream)  # type: ignore[attr-defined]

    def synchronize(self, array: Array) -> None:
        with self._stream(array):
            pass

    @contextmanager
    def _stream(self, array: Array) -> Iterator[Any]:
        """Lend the current stream of the device of `array`, and wait for it at the end.

        That device is the current one meanwhile: the default stream of every device has the same
        number, and CUDA waits for that of the current device.
        """
        with self.cupy.cuda.Device(self.where(array)):
            stream = self.cupy.cuda.get_current_stream()
            yield stream
            stream.synchronize()
