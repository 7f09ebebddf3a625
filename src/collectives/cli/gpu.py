"""``collectives gpu``: what there is for buffers on GPUs, and how to get what is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from collectives.cli import app
from collectives.cli.options import RequireGpuAware
from collectives.launch import abort_on_error, agree, library_name


class Seat(NamedTuple):
    """Where a rank is: its machine, and its device or what is missing."""

    machine: str
    device: str
    missing: str


@app.command()
def gpu(require: RequireGpuAware = False) -> None:
    """Say whether MPI takes GPU memory and why, the device of each rank, and what is missing."""
    from collectives.gpu.detect import takes_device_memory

    direct = takes_device_memory()  # else ValueError, where it is required
    with abort_on_error():
        from mpi4py import MPI

        seats = MPI.COMM_WORLD.gather(_seat(MPI.COMM_WORLD))
        if seats is not None:
            print("\n".join(_report(seats, direct)))
        agree(0)


def _seat(comm: object) -> Seat:
    """Return where this rank is."""
    from mpi4py import MPI

    from collectives.gpu import at_hand
    from collectives.gpu.cuda import Cuda
    from collectives.gpu.devices import local_rank

    machine, place = MPI.Get_processor_name(), local_rank(comm)
    try:
        device = at_hand("cuda")
    except ValueError as error:
        return Seat(machine, "", str(error))
    assert isinstance(device, Cuda)
    number = place % device.count()
    what = f"{device.model(number)}, CuPy {device.cupy.__version__}"
    return Seat(machine, f"cuda {number} of {device.count()}, {what}", "")


def _report(seats: Sequence[Seat], direct: bool) -> Iterator[str]:
    from collectives.gpu.detect import HOW_TO, VARIABLE, awareness

    found = awareness()
    takes = "takes" if found.aware else "does not take"
    yield f"{'MPI library':12}  {library_name()}: {takes} GPU memory"
    for clue in found.clues:
        yield f"{'':12}  {clue.source}: {clue.answer}"
    yield f"{'':12}  {VARIABLE}: {os.environ.get(VARIABLE) or 'not set'}"
    for rank, seat in enumerate(seats):
        yield f"{f'rank {rank}':12}  {seat.machine}: {seat.device or 'no GPU to use'}"
    yield from (
        f"{'missing':12}  {text}" for text in dict.fromkeys(x.missing for x in seats) if text
    )
    way = "as they are, once their stream is done"
    if not direct:
        way = "through pinned host memory, two copies more for every message"
    yield f"Arrays on a GPU are handed to MPI {way}."
    if not found.aware:
        yield HOW_TO
