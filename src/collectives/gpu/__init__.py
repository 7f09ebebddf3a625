"""Arrays on a GPU: `GpuComm` does what their memory needs, and algorithms do not notice.

Algorithms speak to arrays through NumPy's protocols, which CuPy answers. What is left is between
CuPy and MPI: kernels that have been launched and are not done, and MPI libraries that cannot read
the memory of a device. Nothing here imports CuPy before it is given an array of CuPy's, or asked
for a device.
"""

from __future__ import annotations

from typing import Any

from collectives.comm import Array
from collectives.gpu.comm import GpuComm
from collectives.gpu.devices import (
    HOST,
    Device,
    at_hand,
    device_of,
    in_one_place,
    to_host,
    use_device,
)
from collectives.gpu.placed import OnDevice, placed
from collectives.gpu.staging import on_host

__all__ = [
    "HOST", "Device", "GpuComm", "OnDevice", "at_hand", "device_of", "for_arrays_like",
    "in_one_place", "on_host", "placed", "to_host", "use_device",
]  # fmt: skip


def for_arrays_like(array: Array, comm: Any) -> Any:
    """Return a communicator on which arrays on the device of `array` can be sent.

    That device must be the current one: it is where algorithms make the arrays that they need.
    """
    device = device_of(array)
    where, current = device.where(array), device.current()
    if where != current:
        raise ValueError(
            f"the arrays are on {device.name} device {where}, the current device is {current}: "
            f"cupy.cuda.Device({where}).use()"
        )
    if not hasattr(comm, "Allreduce") or getattr(comm, "takes_devices", False):
        return comm  # simulated ranks share their memory
    return GpuComm(comm)
