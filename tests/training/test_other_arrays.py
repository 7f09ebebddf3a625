"""Trainers and model speak to arrays through NumPy's protocols only: no copy to the host."""

import numpy as np
import pytest

from collectives.sim import simulate
from collectives.training import MLP, SCHEMES, batch_of, digits

MODEL, ROWS, STEPS = MLP((64, 12, 10)), 20, 4


class Device(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that answers what CuPy's answer, and refuses to become one of NumPy's."""

    def __init__(self, contents):
        self.contents = contents

    dtype = property(lambda self: self.contents.dtype)
    shape = property(lambda self: self.contents.shape)
    size = property(lambda self: self.contents.size)
    ndim = property(lambda self: self.contents.ndim)
    nbytes = property(lambda self: self.contents.nbytes)
    flags = property(lambda self: self.contents.flags)
    base = property(lambda self: self.contents.base)
    T = property(lambda self: Device(self.contents.T))

    def __len__(self):
        return len(self.contents)

    def __getitem__(self, key):
        return Device(self.contents[key])

    def __setitem__(self, key, value):
        self.contents[key] = inside(value)

    def copy(self):
        return Device(self.contents.copy())

    def reshape(self, *shape):
        return Device(self.contents.reshape(*shape))

    def sum(self, **options):
        return Device(np.asarray(self.contents.sum(**options)))

    def max(self, **options):
        return Device(self.contents.max(**options))

    def __float__(self):  # of one number, as CuPy has it
        return float(self.contents)

    def __array__(self, *_args, **_options):
        raise TypeError("a copy to the host that nobody asked for")

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        assert method == "__call__"
        if any(type(x) is np.ndarray for x in inputs):
            raise TypeError("arrays of the device and of the host in one operation")
        if "out" in options:
            options["out"] = tuple(inside(x) for x in options["out"])
        return Device(np.asarray(ufunc(*map(inside, inputs), **options)))

    def __array_function__(self, function, types, args, options):
        found = function(*map(inside, args), **{k: inside(v) for k, v in options.items()})
        return Device(found) if isinstance(found, np.ndarray) else found


def inside(x):
    if isinstance(x, list | tuple):
        return type(x)(map(inside, x))
    return x.contents if isinstance(x, Device) else x


def trained(scheme, wrap):
    """Return parameters, losses and memory after training on arrays made by `wrap`."""
    pixels, targets = map(wrap, digits())

    def program(comm):
        trainer = scheme(comm, MODEL, wrap(MODEL.initial()))
        losses = [
            trainer.step(batch_of((pixels, targets), step, ROWS, micro=2), ROWS)
            for step in range(STEPS)
        ]
        return trainer.everything(), losses, trainer.memory()

    return simulate(program, 1).results[0]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_arrays_of_a_device(scheme):
    """One rank: here it is about arithmetic; sending such arrays is tests/gpu's business."""
    wanted, wanted_losses, wanted_memory = trained(scheme, lambda array: array)
    parameters, losses, memory = trained(scheme, Device)
    assert isinstance(parameters, Device)
    assert np.array_equal(parameters.contents, wanted)
    assert (losses, memory) == (wanted_losses, wanted_memory)


def test_the_stand_in_does_refuse():
    with pytest.raises(TypeError, match="nobody asked for"):
        np.asarray(Device(np.ones(2)))
    with pytest.raises(TypeError, match="in one operation"):
        Device(np.ones(2)) + np.ones(2)
