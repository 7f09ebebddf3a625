"""Devices and streams of the double."""

import os
from types import SimpleNamespace

from collectives.gpu import stand_in
from collectives.gpu.stand_in import GPU

VISIBLE = os.environ.get("CUDA_VISIBLE_DEVICES", "0,1")
GPU.streams = [stand_in.Stream() for number in VISIBLE.split(",") if number]
DEFAULTS = list(GPU.streams)


class CUDARuntimeError(RuntimeError):
    """What calls of the CUDA runtime raise."""


class Device:
    """A device; the current one in a with block, or after `use`."""

    def __init__(self, device=None):
        self.id = GPU.current() if device is None else int(device)

    def use(self):
        GPU.use(self.id)
        return self

    def __enter__(self):
        self.before = GPU.current()
        return self.use()

    def __exit__(self, *_):
        GPU.use(self.before)


class Stream:
    """A stream; without one underneath the default stream, which every device has its own of."""

    def __init__(self, under=None):
        self.under, self.ptr = under, 0 if under is None else id(under)

    def synchronize(self):
        (self.under or DEFAULTS[GPU.current()]).synchronize()

    def launch(self, touched, act):
        (self.under or DEFAULTS[GPU.current()]).launch(touched, act)


def get_current_stream(device_id=-1):
    number = GPU.current() if device_id < 0 else device_id
    under = GPU.streams[number]
    return Stream(None if under is DEFAULTS[number] else under)


def count():
    if not DEFAULTS:
        raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
    return len(DEFAULTS)


runtime = SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError, getDevice=GPU.current, getDeviceCount=count,
    getDeviceProperties=lambda device: {"name": b"double of a GPU"},
)  # fmt: skip
nvrtc = SimpleNamespace(getVersion=lambda: (12, 9))
