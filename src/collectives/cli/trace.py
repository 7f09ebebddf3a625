"""``collectives trace``: record a run, and look at it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
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
    picture,
)
from collectives.draw import text
from collectives.launch import abort_on_error, agree, everywhere, launch_rank, under_mpi
from collectives.oracle import promises
from collectives.oracle.targets import functions
from collectives.oracle.worlds import Ending
from collectives.recorder import Part, Subject, assemble, record, record_rank, rehearse, subject
from collectives.recording import Recording

FIGURES = {
    "grid": "contribution_grid",
    "spacetime": "spacetime",
    "diary": "diary",
    "waitfor": "waitfor",
    "trees": "trees",
    "butterfly": "butterfly",
    "bruck": "bruck",
    "transpose": "transpose",
    "hierarchy": "hierarchy",
}
"""What ``--figure`` may name, and the functions of `collectives.draw.figures` that draw it."""

LISTED = 200
"""Messages up to which they are listed without being asked for."""

_OF_A_SAVED = {"collective", "compare", "html", "svg", "figure", "perfetto", "json", "messages"}
"""Parameters that make sense for a saved trace."""


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
    compare: Annotated[
        str, typer.Option(help="another algorithm, at the same size; or another saved trace")
    ] = "",
    html: Annotated[Path | None, typer.Option(help="write a page to step through the run")] = None,
    svg: Annotated[
        Path | None, typer.Option(callback=picture, help="write a figure, .svg or .png")
    ] = None,
    figure: Annotated[str, typer.Option(help=f"which: {', '.join(FIGURES)}")] = "grid",
    perfetto: Annotated[Path | None, typer.Option(help="write a trace for the Perfetto UI")] = None,
    json: Annotated[Path | None, typer.Option(help="save the trace itself")] = None,
    messages: Annotated[bool, typer.Option("--messages", help="list them however many")] = False,
    patience: Annotated[
        float, typer.Option(min=0.1, help="seconds after which ranks under mpirun are said to hang")
    ] = 10.0,
) -> None:
    """Record a run, simulated or under mpirun: print steps, messages and waits, or draw it.

    Exit code 1 if it never ends or its result is wrong.
    """
    if figure not in FIGURES:
        raise ValueError(f"figure is {figure!r}, wants one of {', '.join(FIGURES)}")
    if ranks is not None and under_mpi():
        raise ValueError(f"-p {ranks}: under mpirun, mpirun decides how many ranks")
    if elements is not None and nbytes:
        raise ValueError("--elements and --nbytes say the same: give one of them")
    with abort_on_error():
        if collective.endswith(".json"):
            runs = _saved(context, [collective, *([compare] if compare else [])])
        else:
            names = [name, *([compare] if compare else [])]
            call = _Call(
                elements, nbytes, dtype, root, tuple(context.args), network, device, patience
            )
            runs = _record(collective, names, ranks or 8, call)
        right = [  # on rank 0; the others have none
            _print(run, brief=any((html, svg, perfetto, json)), listed=messages) for run in runs
        ]
        if runs:
            _write(runs, html, svg, perfetto, json, figure)
        code = agree(int(not all(right)))
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
    patience: float


def _saved(context: typer.Context, files: Sequence[str]) -> list[Recording]:
    """Return saved recordings, on rank 0 only."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if name not in _OF_A_SAVED and source is not None and source.name == "COMMANDLINE":
            raise ValueError(f"{files[0]} is a run that is over: {name} cannot be chosen any more")
    runs = [Recording.load(file) for file in files]
    return runs if launch_rank() == 0 else []


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

    def program(comm: Any) -> list[Part]:
        from collectives.oracle.watching import watching

        with watching(comm, call.patience, _tell) as watched:
            for what in subjects:
                rehearse(what, watched)
        return [record_rank(what, comm) for what in subjects]

    world = everywhere(program)
    if not world.results:
        return []
    return [
        assemble(what, parts, world.library)
        for what, *parts in zip(subjects, *world.results, strict=True)
    ]


def _tell(story: Ending) -> None:
    print(f"NEVER ENDED  {story.text}", flush=True)


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


def _print(run: Recording, *, brief: bool, listed: bool) -> bool:
    """Print a run, a few lines where it is drawn, and return whether all is right with it."""
    from collectives.draw.findings import findings, shortfall
    from collectives.draw.steps import TABLE_RANKS, contribution_table

    how = f"simulated on {run.where}" if run.simulated else run.where
    size = f"{run.elements} {run.dtype} ({text.nbytes(run.nbytes)} in all)"
    print(text.bold(f"{run}  {text.many(run.ranks, 'rank')}, {size}, {how}"))
    sent = run.messages()
    total = sum(message.send.nbytes for message in sent)
    took = "simulated" if run.simulated else "measured"
    print(f"{text.many(len(run.frames()), 'step')}, {text.many(len(sent), 'message')}, "
          f"{text.nbytes(total)}, {text.seconds(run.time)} ({took})")  # fmt: skip
    wrong = "" if run.stuck else shortfall(run)
    if run.stuck:
        print(f"\n{text.bold('NEVER ENDED')}  {run.stuck.text}")
    elif wrong:
        print(f"\n{text.bold('WRONG RESULT')}  {wrong}")
    if not brief:
        print()
        if run.ranks <= TABLE_RANKS and run.columns:
            lines = [*contribution_table(run), "", *wrap(findings(run), text.WIDTH)]
            _section("who is in each block (* = changed, ~ = only in a part)", lines)
        _section("bytes and messages per rank", text.bytes_per_rank(run))
        _section("who waited for whom", text.waits_table(run))
    if sent and (listed or (not brief and len(sent) <= LISTED)):
        _section("messages", text.message_list(run))
    elif sent and not brief:
        print(f"({len(sent)} messages are not listed: --messages lists them)\n")
    return not (run.stuck or wrong)


def _section(title: str, lines: Iterable[str]) -> None:
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
    if svg is not None:
        from collectives.draw import figures  # loads Matplotlib
    for number, run in enumerate(runs):
        suffix = f"-{run.algorithm}" if number else ""
        if svg is not None:
            file = svg.with_name(f"{svg.stem}{suffix}{svg.suffix}")
            getattr(figures, FIGURES[figure])(run).save(file)
            print(f"{file}  {run}, {figure}")
        if json is not None:
            file = json.with_name(f"{json.stem}{suffix}{json.suffix}")
            run.save(file)
            print(f"{file}  the trace of {run}")
