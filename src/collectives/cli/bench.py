"""``collectives bench``: time algorithms on real MPI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from collectives.cli import app, fail, quantities
from collectives.cli.options import DeviceName, RequireGpuAware, picture
from collectives.draw import tables
from collectives.launch import abort_on_error, agree, under_mpi
from collectives.registry import COLLECTIVES, find, known_collective


@app.command()
def bench(
    collective: Annotated[str | None, typer.Argument(help="only this one; else all")] = None,
    name: Annotated[str, typer.Option("--algorithm", help="compare this one; else the best")] = "",
    sizes: Annotated[
        str,
        typer.Option(help="of the whole vector: a list, ... stands for steps by 4"),
    ] = "8,1KiB,...,4MiB",
    device: DeviceName = "cpu",
    require: RequireGpuAware = False,
    repetitions: Annotated[int, typer.Option(min=1, help="of every call, in turns")] = 20,
    plot: Annotated[
        Path | None, typer.Option(callback=picture, help="also draw it: a .png or .svg file")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Time step-by-step algorithms against the MPI library's, on real MPI."""
    if not under_mpi():
        raise ValueError("bench measures real MPI: mpirun -n 8 collectives bench ...")
    measured = [each for each in COLLECTIVES if not each.startswith("neighbor_")]
    chosen = [known_collective(collective)] if collective else measured
    if collective not in (None, *measured):
        raise ValueError(
            f"{collective} is not measured: it needs a grid, which takes longer to make"
        )
    if name and collective is None:
        raise ValueError("--algorithm needs a collective")
    if name:
        find(chosen[0], name)
    with abort_on_error():
        from mpi4py import MPI

        from collectives import bench as timing
        from collectives.gpu import at_hand

        comm = MPI.COMM_WORLD
        where = at_hand(device)
        machine = timing.fit(comm, device=where)
        rows = [
            timing.measure(comm, each, size, machine, repetitions=repetitions, device=where)
            for size in quantities.each("sizes", sizes, quantities.size, factor=4)
            for each in chosen
        ]
        refused = bool(name) and name not in rows[0].times
        if comm.rank == 0 and not refused:
            if as_json:
                print(json.dumps(tables.bench_json(rows, machine, comm.size), indent=2))
            else:
                print(tables.bench_table(rows, machine, comm.size, name))
            if plot is not None:
                from collectives.draw.figures import bench_times  # loads Matplotlib

                bench_times(rows, comm.size, name).save(plot)
        agree(0)
    if refused:
        fail(f"{collective}/{name} does not run on {comm.size} ranks")
