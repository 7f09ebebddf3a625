"""The double of CuPy, for tests without a GPU."""

import importlib
import sys
from pathlib import Path

import pytest

from collectives.gpu import devices
from collectives.gpu.cuda import Cuda
from collectives.gpu.stand_in import GPU

DOUBLE = Path(__file__).parent / "double"
NAMES = ("cupy", "cupy.cuda", "cupyx")


@pytest.fixture
def cuda(monkeypatch):
    """The device that CuPy's double makes: two GPUs, device 0 current, nothing done at once."""
    monkeypatch.setattr(GPU, "streams", GPU.streams)
    monkeypatch.setattr(GPU, "lazy", True)
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    with monkeypatch.context() as path:
        path.syspath_prepend(DOUBLE)
        for name in NAMES:
            importlib.import_module(name)
    device = Cuda()
    monkeypatch.setitem(devices.DEVICES, "cuda", lambda: device)
    yield device
    GPU.use(0)
    for name in NAMES:
        del sys.modules[name]
