"""``collectives trace``: record a run, and look at it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from collectives.cli import app
from collectives.cli.options import (
    DeviceName,
    Ranks,
    RequireGpuAware,
    elements_in,
    network_named,
    own_options,
)
from collectives.draw import text
from collectives.launch import abort_on_error, agree, everywhere, under_mpi
from collectives.oracle import promises
from collectives.oracle.targets import functions
from collectives.recorder import Subject, assemble, record, record_rank, subject
from collectives.recording import Recording

FIGURES = {
    "grid": "contribution_grid",
    "spacetime": "spacetime",
    "diary": "diary",
    "waitfor": "waitfor",
    "trees": "trees",
    "butterfly": "butterfly",
    "bruck": "bruck",
    "hierarchy": "hierarchy",
}
"""What ``--figure`` may name, each drawn by a function of the module of its name."""

LISTED = 200
"""Messages up to which they are listed without being asked for."""


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    epilog="Options of the algorithm, such as --channels 4, are taken too.",
)
def trace(
    context: typer.Context,
    collective: Annotated[str, typer.Argument(help="such as allreduce; or a saved trace.json")],
    name: Annotated[
        str, typer.Argument(help="an algorithm such as ring, or module:function, file.py:function")
    ] = "",
    ranks: Ranks = None,
    device: DeviceName = "cpu",
    require: RequireGpuAware = False,
    elements: Annotated[int | None, typer.Option(min=0, help="as in the signature")] = None,
    nbytes: Annotated[str, typer.Option(help="of the whole vector instead, such as 1MB")] = "",
    dtype: Annotated[str, typer.Option(help="NumPy number type")] = "float32",
    root: Annotated[int, typer.Option(help="for rooted collectives")] = 0,
    network: Annotated[
        str, typer.Option(help="that simulated messages travel on: hockney, or a preset")
    ] = "hockney",
    compare: Annotated[str, typer.Option(help="another algorithm, at the same size")] = "",
    html: Annotated[Path | None, typer.Option(help="write a page to step through the run")] = None,
    svg: Annotated[Path | None, typer.Option(help="write a figure, .svg or .png")] = None,
    figure: Annotated[str, typer.Option(help=f"which: {', '.join(FIGURES)}")] = "grid",
    perfetto: Annotated[Path | None, typer.Option(help="write a trace for the Perfetto UI")] = None,
    json: Annotated[Path | None, typer.Option(help="save the trace itself")] = None,
    messages: Annotated[bool, typer.Option("--messages", help="list them however many")] = False,
) -> None:
    """Record a run, simulated or under mpirun: print steps, messages and waits, or draw it."""
    if figure not in FIGURES:
        raise ValueError(f"figure is {figure!r}, wants one of {', '.join(FIGURES)}")
    if ranks is not None and under_mpi():
        raise ValueError(f"-p {ranks}: under mpirun, mpirun decides how many ranks")
    if elements is not None and nbytes:
        raise ValueError("--elements and --nbytes say the same: give one of them")
    with abort_on_error():
        if collective.endswith(".json"):
            runs = [Recording.load(collective)]
        else:
            names = [name, *([compare] if compare else [])]
            call = _Call(elements, nbytes, dtype, root, tuple(context.args), network, device)
            runs = _record(collective, names, ranks or 8, call)
        if runs:  # on rank 0
            for run in runs:
                _print(run, brief=any((html, svg, perfetto, json)), listed=messages)
            _write(runs, html, svg, perfetto, json, figure)
        code = agree(int(any(run.stuck for run in runs)))
    sys.exit(code)


class _Call(NamedTuple):
    """What was asked for, besides the algorithm."""

    elements: int | None
    nbytes: str
    dtype: str
    root: int
    own: tuple[str, ...]
    network: str
    device: str


def _record(collective: str, names: list[str], p: int, call: _Call) -> list[Recording]:
    """Return the recordings; on MPI, where all ranks make them together, on rank 0 only."""
    targets = [target for name in names for target in functions(collective, name).functions]
    if under_mpi():
        from mpi4py import MPI

        p = MPI.COMM_WORLD.size
    subjects = [_subject(target, p, call, len(targets)) for target in targets]
    if not under_mpi():
        net = network_named(call.network)
        return [record(what, p, network=net) for what in subjects]
    world = everywhere(lambda comm: [record_rank(what, comm) for what in subjects])
    if not world.results:
        return []
    return [
        assemble(what, parts, world.library)
        for what, *parts in zip(subjects, *world.results, strict=True)
    ]


def _subject(target: promises.Subject, p: int, call: _Call, targets: int) -> Subject:
    """Describe the run of one target."""
    from collectives.gpu import placed

    own = own_options(target.function, call.own, lenient=targets > 1)
    what = subject(
        target.function, p, collective=target.collective, elements=call.elements,
        dtype=call.dtype, root=call.root, **own,
    )  # fmt: skip
    what = replace(what, function=placed(what.function, call.device))
    if call.nbytes:
        what = replace(what, case=replace(what.case, n=elements_in(call.nbytes, what)))
    return what


def _print(run: Recording, *, brief: bool, listed: bool) -> None:
    """Print a run: a few lines where it is drawn, else all that a terminal can show."""
    from collectives.draw.steps import TABLE_RANKS, contribution_table

    how = f"simulated on {run.where}" if run.simulated else run.where
    size = f"{run.elements} {run.dtype} ({text.nbytes(run.nbytes)} in all)"
    print(text.bold(f"{run}  {run.ranks} ranks, {size}, {how}"))
    sent = run.messages()
    total = sum(message.send.nbytes for message in sent)
    took = "simulated" if run.simulated else "measured"
    print(f"{len(run.frames())} steps, {len(sent)} messages, {text.nbytes(total)}, "
          f"{text.seconds(run.time)} ({took})")  # fmt: skip
    if run.stuck:
        print(f"\nNEVER ENDED  {run.stuck.text}")
    if not brief:
        print()
        if run.ranks <= TABLE_RANKS and run.columns:
            _section("who is in each block (* = changed)", contribution_table(run))
        _section("bytes and messages per rank", text.bytes_per_rank(run))
        _section("who waited for whom", text.waits_table(run))
    if listed or (not brief and len(sent) <= LISTED):
        _section("messages", text.message_list(run))
    elif not brief:
        print(f"({len(sent)} messages are not listed: --messages lists them)\n")


def _section(title: str, lines: Iterator[str]) -> None:
    print(f"{text.bold(title)}\n")
    for line in lines:
        print(line)
    print()


def _write(
    runs: list[Recording], html: Path | None, svg: Path | None, perfetto: Path | None,
    json: Path | None, figure: str,
) -> None:  # fmt: skip
    """Write the files that were asked for; of two runs, a figure and a trace each."""
    if html is not None:
        from collectives.draw import player

        player.write(html, *runs)
        print(f"{html}  the player")
    if perfetto is not None:
        from collectives.draw import perfetto as exporter

        exporter.save(perfetto, *runs)
        print(f"{perfetto}  for ui.perfetto.dev")
    for run, suffix in zip(runs, ["", *(f"-{run.algorithm}" for run in runs[1:])], strict=True):
        if svg is not None:
            file = svg.with_name(f"{svg.stem}{suffix}{svg.suffix}")
            _picture(run, figure).save(file)
            print(f"{file}  {run}, {figure}")
        if json is not None:
            file = json.with_name(f"{json.stem}{suffix}{json.suffix}")
            run.save(file)
            print(f"{file}  the trace of {run}")


def _picture(run: Recording, figure: str) -> Any:
    module = importlib.import_module(f"collectives.draw.figures.{_MODULES.get(figure, figure)}")
    return getattr(module, FIGURES[figure])(run)


_MODULES: dict[str, str] = {}
