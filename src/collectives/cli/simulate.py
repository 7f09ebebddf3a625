"""``collectives simulate`` and ``case-study``: how long it would take, on which network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from collectives.cli import app, fail, quantities
from collectives.cli.options import CollectiveName, named_values, picture
from collectives.registry import Algorithm, algorithms, find
from collectives.sim import PRESETS, Cluster, Hockney, LogGP, Network, preset

if TYPE_CHECKING:
    from collectives.study import Point, Refused, Simulated

_MINE = "Any option of an algorithm, such as --channels 8 or --segment 8192, goes after its name."


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    epilog=f"{_MINE} Lists such as 1,2,4 or 1,...,8 give a sweep: every combination is simulated.",
)
def simulate(
    context: typer.Context,
    collective: CollectiveName,
    name: Annotated[str, typer.Argument(help="an algorithm such as ring, a list of some, or ALL")],
    ranks: Annotated[
        str, typer.Option("-p", "--ranks", help="8, or a list; else as many as the cluster has")
    ] = "",
    nbytes: Annotated[
        str, typer.Option(help=f"of the whole vector, or a list; {quantities.SIZES}")
    ] = "1MB",
    network: Annotated[
        str, typer.Option(help=f"hockney, loggp, {', '.join(PRESETS)}")
    ] = "a100-8x8",
    alpha: Annotated[str, typer.Option(help="of hockney: per message, such as 5us")] = "",
    beta: Annotated[
        str, typer.Option(help="of hockney: per byte, such as 1/10GB, 10GB/s or 0.1ns")
    ] = "",
    gamma: Annotated[str, typer.Option(help="per byte combined, as beta")] = "",
    L: Annotated[str, typer.Option("--L", help="of loggp: latency, such as 5us")] = "",
    o: Annotated[str, typer.Option("--o", help="of loggp: overhead")] = "",
    g: Annotated[str, typer.Option("--g", help="of loggp: gap")] = "",
    G: Annotated[str, typer.Option("--G", help="of loggp: gap per byte, as beta")] = "",
    nics: Annotated[
        str, typer.Option(help="network cards of a node, or a list; rank i has card i modulo that")
    ] = "",
    efficiency: Annotated[str, typer.Option(help="of network cards, such as 0.9")] = "",
    plot: Annotated[
        Path | None, typer.Option(callback=picture, help="also draw a sweep: a .png or .svg file")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Simulate algorithms on a network: time, messages, bytes, and the least time there can be."""
    from collectives.draw import sweeps
    from collectives.study import Refused, sweep

    entries = _entries(collective, name)
    given = {"alpha": alpha, "beta": beta, "gamma": gamma, "L": L, "o": o, "g": g, "G": G,
             "efficiency": efficiency}  # fmt: skip
    given = {field: text for field, text in given.items() if text}
    networks = _networks(network, given, nics)
    points = sweep(
        entries,
        quantities.each("ranks", ranks, quantities.whole) if ranks else [_all_ranks(networks[0])],
        quantities.each("nbytes", nbytes, quantities.size, factor=4),
        networks,
        _options(context.args),
    )
    if plot is not None and len(points) < 2:
        raise ValueError("--plot draws a sweep: give several sizes, ranks or values of an option")
    outcomes = _run(points)
    label = " ".join([network, *(f"{field}={text}" for field, text in given.items())])
    refused = [each for each in outcomes if isinstance(each, Refused)]
    if len(outcomes) == len(refused) == 1:
        raise ValueError(refused[0].reason)
    if as_json:
        rows = [sweeps.as_json(each, network) for each in outcomes]
        print(json.dumps(rows[0] if len(rows) == 1 else rows, indent=2))
    else:
        print(sweeps.table(outcomes, label))
    if len(refused) == len(outcomes):
        fail("none of this can be simulated")
    if plot is not None:
        from collectives.draw.figures import sweep_times

        sweep_times(outcomes, label).save(plot)


@app.command("case-study")
def case_study(
    tolerance: Annotated[
        float, typer.Option(min=0, max=0.5, help="how far times may be off")
    ] = 0.02,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Compute the case study: 1.2 GB on 8 nodes x 8 GPUs, in 18 ms and in 14.2 ms (simulated)."""
    from rich.console import Console

    from collectives import case_study as study
    from collectives.draw import sweeps

    with Console(stderr=True).status("simulating"):  # on a terminal
        compared = list(study.comparison())
        found = {time: study.consistent(time, tolerance) for time in (study.BEFORE, study.AFTER)}
    if as_json:
        print(json.dumps(sweeps.case_study_json(compared, found), indent=2))
    else:
        print(sweeps.case_study_text(compared, found, tolerance))


def _entries(collective: str, name: str) -> list[Algorithm]:
    if name == "ALL":
        return [entry for entry in algorithms(collective) if entry.kind == "step by step"]
    return [find(collective, each) for each in dict.fromkeys(name.split(","))]


def _options(words: Sequence[str]) -> dict[str, list[Any]]:
    """Return the options that are left for the algorithms, each with its values."""
    return {
        name[2:].replace("-", "_"): quantities.each(name[2:], value, quantities.whole)
        for name, value in named_values(words)
    }


def _networks(name: str, given: dict[str, str], nics: str) -> list[Network]:
    """Return the network of this name with what is `given`, once for each number of cards."""
    reads = {"alpha": quantities.duration, "beta": quantities.per_byte,
             "gamma": quantities.per_byte, "L": quantities.duration, "o": quantities.duration,
             "g": quantities.duration, "G": quantities.per_byte,
             "efficiency": quantities.share}  # fmt: skip
    plain = {"hockney": Hockney(0.0, 0.0), "loggp": LogGP(0.0, 0.0, 0.0, 0.0)}
    needed = {"hockney": ("alpha", "beta"), "loggp": ("L", "o", "g", "G")}.get(name, ())
    if needed and not any(each in given for each in needed):
        raise ValueError(f"--network {name} wants --{' or --'.join(needed)}")
    network: Any = plain[name] if name in plain else preset(name)
    known = [field.name for field in fields(network)]
    for field in given:
        if field not in known:
            raise ValueError(f"--{field}: network {name} has none; it has {', '.join(known)}")
    changes = {}
    for field, text in given.items():
        try:
            changes[field] = reads[field](text)
        except ValueError as error:
            raise ValueError(f"--{field}: {error}") from None
    network = replace(network, **changes)
    if not nics:
        return [network]
    if not isinstance(network, Cluster):
        raise ValueError(f"--nics: network {name} has none")
    counts = dict.fromkeys(quantities.each("nics", nics, quantities.whole))
    ranks = range(network.ranks_per_node)
    return [
        replace(network, nics_per_node=count, rank_to_nic=[rank % max(count, 1) for rank in ranks])
        for count in counts
    ]


def _all_ranks(network: Network) -> int:
    return network.nodes * network.ranks_per_node if isinstance(network, Cluster) else 8


def _run(points: Sequence[Point]) -> list[Simulated | Refused]:
    """Simulate one after the other, with a bar on the terminal meanwhile."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

    from collectives.study import attempt

    console = Console(stderr=True)
    columns = *Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn()
    shown = console.is_terminal and len(points) > 1
    with Progress(*columns, console=console, transient=True, disable=not shown) as progress:
        return [attempt(each) for each in progress.track(points, description="simulating")]
