"""A GPU to test with where there is none: its arrays lie in host memory and do not show it.

They show ``__cuda_array_interface__`` and answer NumPy's protocols, with the semantics of CuPy that
matter here, and refuse whatever would need the contents on the host. An MPI library that takes no
device memory receives their pointers as plain memory.

What is launched on it waits until its stream is synchronised. Until then a pointer to memory that a
launched operation reads or writes leads to poison: MPI sends garbage, and what it receives there is
lost. So a forgotten synchronisation is wrong every time, and not now and then. Streams do not wait
for each other, as CUDA's that are non-blocking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final, Self

import numpy as np

from collectives.comm import Array

POISON = 0xDB


class Stream:
    """Operations in the order in which they were launched."""

    def __init__(self) -> None:
        self.launched: list[tuple[list[Memory], Callable[[], None]]] = []

    def launch(self, touched: list[Memory], act: Callable[[], None]) -> None:
        if not GPU.lazy:
            act()
            return
        self.launched.append((touched, act))
        for memory in touched:
            memory.busy += 1

    def synchronize(self) -> None:
        launched, self.launched = self.launched, []
        for touched, act in launched:
            act()
            for memory in touched:
                memory.busy -= 1


class Memory:
    """One allocation on a device, full of poison at first."""

    def __init__(self, nbytes: int, device: int) -> None:
        self.device, self.busy = device, 0  # how many launched operations wait to touch it
        self.bytes = np.full(nbytes, POISON, np.uint8)
        self.poison = np.full(nbytes, POISON, np.uint8)

    @property
    def shown(self) -> Array:
        """What a pointer leads to now."""
        return self.poison if self.busy else self.bytes


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array on the stand-in device."""

    __slots__ = ("contents", "memory")

    def __init__(self, memory: Memory, contents: Array) -> None:
        self.memory, self.contents = memory, contents

    @classmethod
    def empty(cls, shape: int | tuple[int, ...], dtype: Any) -> Self:
        dtype = np.dtype(dtype)
        memory = Memory(int(np.prod(shape)) * dtype.itemsize, GPU.current())
        return cls(memory, memory.bytes.view(dtype).reshape(shape))

    dtype = property(lambda self: self.contents.dtype)
    shape = property(lambda self: self.contents.shape)
    size = property(lambda self: self.contents.size)
    nbytes = property(lambda self: self.contents.nbytes)
    ndim = property(lambda self: self.contents.ndim)
    itemsize = property(lambda self: self.contents.itemsize)
    strides = property(lambda self: self.contents.strides)
    T = property(lambda self: self._part(self.contents.T))
    device = property(lambda self: SimpleNamespace(id=self.memory.device))
    base = property(lambda self: self.memory.bytes)

    @property
    def flags(self) -> SimpleNamespace:
        """As CuPy's, which know nothing of writeable."""
        flags = self.contents.flags
        return SimpleNamespace(c_contiguous=flags.c_contiguous, f_contiguous=flags.f_contiguous)

    @property
    def shown(self) -> Array:
        """What a pointer to this array leads to now."""
        start = _address(self.contents) - _address(self.memory.bytes)
        return np.ndarray(
            self.shape, self.dtype, self.memory.shown, start if self.size else 0, self.strides
        )

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape, "typestr": self.dtype.str,
            "data": (_address(self.shown) if self.size else 0, False),
            "strides": None if self.flags.c_contiguous else self.strides, "version": 3,
        }  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.memory.device  # CUDA

    def __dlpack__(self, *, stream: int | None = None, **options: Any) -> Any:
        """Return the pointer to who wants no waiting (-1): mpi4py, which asks for this first."""
        if stream != -1 or not self.size:  # the second because no CUDA pointer is 0
            raise BufferError("an array on a device is handed on without copies and waiting only")
        return self.shown.__dlpack__(**options)

    def __repr__(self) -> str:
        return f"DeviceArray({self.dtype}{self.shape} on device {self.memory.device})"

    def _part(self, contents: Array) -> Self:
        """Return an array in the same memory."""
        return type(self)(self.memory, contents)

    def __len__(self) -> int:
        return len(self.contents)

    # ------------------------------------------------------------------ on the device

    def __getitem__(self, key: Any) -> Self:
        part = self.contents[key]
        if not isinstance(part, np.ndarray):
            part = self.contents[(*np.atleast_1d(key), np.newaxis)].reshape(())
        return self._part(part)

    def __setitem__(self, key: Any, value: Any) -> None:
        _launch(_assign, [value], self[key])

    def view(self, dtype: Any) -> Self:
        return self._part(self.contents.view(dtype))

    def reshape(self, *shape: Any) -> Self:
        return self._part(self.contents.reshape(*shape))

    def copy(self) -> Self:
        made = self.empty(self.shape, self.dtype)
        _launch(_assign, [self], made)
        return made

    def sum(self, axis: Any = None, keepdims: bool = False) -> DeviceArray:
        return _reduce(np.sum, self, axis, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> DeviceArray:
        return _reduce(np.max, self, axis, keepdims)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        (out,) = kwargs.pop("out", (None,))
        if method != "__call__" or kwargs or ufunc.nout != 1:
            return NotImplemented
        if out is None:
            shapes = [x.shape for x in inputs if isinstance(x, DeviceArray)]
            if ufunc is np.matmul:  # of two matrices
                shapes = [(shapes[0][0], shapes[1][1])]
            kinds = [x.dtype if hasattr(x, "dtype") else type(x) for x in inputs]
            dtype = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))[-1]
            out = self.empty(np.broadcast_shapes(*shapes), dtype)
        _launch(lambda *x, to: ufunc(*x, out=to), inputs, out)
        return out

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        handler = FUNCTIONS.get(function)
        return NotImplemented if handler is None else handler(*args, **kwargs)

    # ------------------------------------------------------------------ to the host, and not

    def tobytes(self) -> bytes:
        GPU.synchronize(self)
        return self.contents.tobytes()

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("implicit conversion of an array on a device to the host")

    __array__ = __float__ = __int__ = __bool__ = __complex__ = __index__ = _refuse
    __iter__ = tolist = item = _refuse
    __hash__ = None  # type: ignore[assignment]


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _assign(value: Any, to: Array) -> None:
    to[...] = value


def _launch(act: Callable[..., Any], operands: Any, out: Any) -> None:
    """Launch ``act(*operands, to=out)``, all of it on the current device."""
    for operand in (*operands, out):
        if isinstance(operand, np.ndarray) and operand.ndim:
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")  # as CuPy says
    arrays = [x for x in (*operands, out) if isinstance(x, DeviceArray)]
    for array in arrays:
        if array.memory.device != GPU.current():
            raise ValueError(
                "Array device must be same as the current device: "
                f"array device = {array.memory.device} while current = {GPU.current()}"
            )
    plain = [x.contents if isinstance(x, DeviceArray) else x for x in operands]
    stream = GPU.streams[GPU.current()]
    stream.launch([x.memory for x in arrays], lambda: act(*plain, to=out.contents))


def _empty_like(prototype: Any, dtype: Any = None, *, shape: Any = None) -> DeviceArray:
    shape = shape or prototype.shape  # CuPy 14.2 takes a shape of 0 for none
    made: DeviceArray = prototype.empty(shape, prototype.dtype if dtype is None else dtype)
    return made


def _zeros_like(prototype: Any, *, shape: Any = None) -> DeviceArray:
    made = _empty_like(prototype, shape=shape)
    made[...] = 0
    return made


def _concatenate(parts: Any) -> DeviceArray:
    made = _empty_like(parts[0], shape=sum(part.size for part in parts))
    _launch(lambda *x, to: np.concatenate(x, out=to), parts, made)
    return made


def _reduce(function: Any, array: DeviceArray, axis: Any, keepdims: bool) -> DeviceArray:
    shape = function(np.empty(array.shape), axis=axis, keepdims=keepdims).shape
    made = array.empty(shape, array.dtype)
    _launch(lambda x, to: function(x, axis=axis, keepdims=keepdims, out=to), [array], made)
    return made


def _may_share_memory(a: Any, b: Any) -> bool:
    if not (isinstance(a, DeviceArray) and isinstance(b, DeviceArray)):
        raise TypeError("may_share_memory of an array on a device and one that is not")
    return np.may_share_memory(a.contents, b.contents)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.concatenate: _concatenate,
    np.empty_like: _empty_like,
    np.zeros_like: _zeros_like,
    np.copyto: lambda to, value: _launch(_assign, [value], to),
    np.may_share_memory: _may_share_memory,
    np.size: lambda a: a.size,
}


class StandIn:
    """Two devices of which one process sees both.

    Attributes
    ----------
    lazy : bool
        Whether what is launched waits for its stream to be synchronised; else it is done at once.
    copies : int
        How often contents were moved between host and device.
    """

    name = "stand-in"

    def __init__(self) -> None:
        self.lazy, self.number, self.copies = True, 0, 0
        self.streams = [Stream(), Stream()]  # the current one of each device

    def count(self) -> int:
        return len(self.streams)

    def current(self) -> int:
        return self.number

    def use(self, number: int) -> None:
        self.number = number

    @contextmanager
    def on(self, stream: Stream) -> Iterator[None]:
        """Launch on this stream of the current device in the block."""
        number, before = self.number, self.streams[self.number]
        self.streams[number] = stream
        try:
            yield
        finally:
            self.streams[number] = before

    def has(self, dtype: np.dtype) -> bool:
        return dtype.char not in "gG" and dtype.isnative  # as CuPy

    def where(self, array: Any) -> int:
        number: int = array.memory.device
        return number

    def array(self, values: Array) -> Any:
        made = DeviceArray.empty(values.shape, values.dtype)
        self.store(values, made)
        return made

    def pinned(self, like: Any) -> Array:
        made = np.empty(like.shape, like.dtype)
        made.reshape(-1).view(np.uint8)[...] = POISON
        return made

    def fetch(self, array: Any, host: Array) -> None:
        self._move([array.memory], lambda: _assign(array.contents, to=host))

    def store(self, host: Array, array: Any) -> None:
        self._move([array.memory], lambda: _assign(host, to=array.contents))

    def _move(self, touched: list[Memory], act: Callable[[], None]) -> None:
        self.copies += 1
        stream = self.streams[touched[0].device]
        stream.launch(touched, act)
        stream.synchronize()

    def synchronize(self, array: Any) -> None:
        self.streams[array.memory.device].synchronize()


GPU: Final = StandIn()
