"""What was simulated, as tables for the terminal and as JSON."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from collectives.draw.text import WIDTH, nbytes, seconds
from collectives.sim import Cluster, Link
from collectives.study import Refused, Simulated

if TYPE_CHECKING:
    from collectives.case_study import Compared, Consistent

Outcome = Simulated | Refused


def asked(outcome: Outcome) -> dict[str, Any]:
    """Return what was asked for, by name: what may differ from call to call."""
    call = outcome.call
    network = call.network
    cards = {"nics": network.nics_per_node} if isinstance(network, Cluster) else {}
    size = {"algorithm": call.algorithm.name, "p": call.p, "nbytes": call.nbytes}
    return size | dict(call.options) | cards


def varied(outcomes: Iterable[Outcome]) -> list[str]:
    """Return the names of what differs, but for the algorithm."""
    rows = [asked(outcome) for outcome in outcomes]
    names = dict.fromkeys(name for row in rows for name in row if name != "algorithm")
    values = {name: {row[name] for row in rows if name in row} for name in names}
    return [name for name in names if len(values[name]) > 1]


def as_json(outcome: Outcome, network: str) -> dict[str, Any]:
    """Return everything about one simulated call, in seconds and bytes."""
    call = outcome.call
    document: dict[str, Any] = {
        "simulated": True,
        "collective": call.algorithm.collective,
        "algorithm": call.algorithm.name,
        "p": call.p,
        "nbytes": call.nbytes,
        "network": network,
        "parameters": _finite(vars(call.network)),
        "options": dict(call.options),
    }
    if isinstance(outcome, Refused):
        return document | {"refused": outcome.reason}
    return document | {
        "nbytes": outcome.nbytes,
        "time_s": outcome.time_s,
        "messages": outcome.messages,
        "sent": outcome.sent,
        "lower_bound_s": outcome.lower_bound_s,
    }


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what JSON has words for; None stands for infinity, and for a function."""
    return {
        name: _finite(vars(value))
        if isinstance(value, Link)
        else None
        if callable(value) or value == math.inf
        else value
        for name, value in values.items()
    }


def in_common(outcomes: Sequence[Outcome], network: str) -> str:
    """Return a title: what all calls have in common."""
    first, *rest = [asked(outcome) for outcome in outcomes]
    same = [
        f"{name} {value(name, first[name])}"
        for name in first
        if name != "algorithm" and all(row.get(name) == first[name] for row in rest)
    ]
    if len({outcome.call.algorithm.name for outcome in outcomes}) == 1:
        same.insert(0, first["algorithm"])
    collective = outcomes[0].call.algorithm.collective
    return f"{collective}, simulated on {network}: {', '.join(same)}"


def table(outcomes: Sequence[Outcome], network: str) -> str:
    """Return a line for every call, under what all have in common."""
    heads = ["algorithm", *varied(outcomes)]
    rows = [asked(outcome) for outcome in outcomes]
    left = [[value(name, row[name]) if name in row else "" for name in heads] for row in rows]
    results = [_results(outcome) for outcome in outcomes]
    full = [RESULTS, *(found for found in results if len(found) > 1)]
    lines = [
        f"{mine}  {_aligned(found, full)}"[:WIDTH].rstrip()
        for mine, found in zip(_columns([heads, *left]), [RESULTS, *results], strict=True)
    ]
    return "\n".join([*textwrap.wrap(in_common(outcomes, network), WIDTH), "", *lines, "", LEGEND])


RESULTS = ["time", "least", "ratio", "messages", "sent"]
LEGEND = """\
time: until the last rank has its result. least: a time that no algorithm can beat; ratio: to that.
messages, sent: of all ranks together."""


def _results(outcome: Outcome) -> list[str]:
    if isinstance(outcome, Refused):
        return [f"refused: {outcome.reason}"]
    least = outcome.lower_bound_s
    ratio = f"{outcome.time_s / least:.2f}" if least else ""
    times = [seconds(outcome.time_s), seconds(least), ratio]
    return [*times, str(outcome.messages), nbytes(outcome.sent)]


def value(name: str, found: Any) -> str:
    """Write a value of what was asked for."""
    return nbytes(found) if name == "nbytes" else str(found)


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield lines in which columns are as wide as they have to be: text left, numbers right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *rest in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True)]
        yield "  ".join([f"{first:{widths[0]}}", *cells])


def _aligned(row: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a line as wide as all `rows` need it; a single text as it is."""
    if len(row) == 1:
        return row[0]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))


# ------------------------------------------------------------------ the case study


def case_study_json(
    compared: Iterable[Compared], found: Mapping[float, Sequence[Consistent]]
) -> dict[str, Any]:
    """Return the comparison, and for each time the ways that are consistent with it."""
    return {
        "simulated": True,
        "comparison": [
            {"name": each.name, **vars(each.setup), "bandwidth_s": each.bandwidth_s,
             "formula_s": each.formula_s, "simulated_s": each.simulated_s}
            for each in compared
        ],
        "consistent": [
            {"time_s": time, **vars(way.setup), "efficiency": [way.lowest, way.highest]}
            for time, ways in found.items()
            for way in ways
        ],
    }  # fmt: skip


def case_study_text(
    compared: Sequence[Compared], found: Mapping[float, Sequence[Consistent]], tolerance: float
) -> str:
    """Return the same as text."""
    rows = [["1.2 GB on 8 nodes x 8 GPUs, in ms", "by bandwidth", "with latency", "simulated"]]
    for each in compared:
        times = (each.bandwidth_s, each.formula_s, each.simulated_s)
        rows.append([each.name, *(f"{time * 1e3:.2f}" for time in times)])
    lines = [*_columns(rows), "", *textwrap.wrap(NOTES, WIDTH)]
    for time, ways in found.items():
        lines += ["", f"Consistent with {seconds(time)}, to {tolerance:.0%}:", *_ways(ways)]
    return "\n".join([*lines, "", *textwrap.wrap(_verdict(found), WIDTH)])


NOTES = """\
The network cards are taken at 0.9 of their line rate. Formulas of trees leave out latency, and that
cards wait for each other. The lists below are made with the formulas: only how long trees take to
fill is simulated. Where a range of efficiencies ends at 1 or at 0.5, it may go on."""


def _ways(ways: Sequence[Consistent]) -> Iterator[str]:
    rows = [["algorithm", "channels", "cards", "segments", "efficiency of the cards"]]
    for way in ways:
        setup = way.setup
        channels = setup.channels if "channels" in setup.options(0) else ""
        segments = setup.segments if "segment" in setup.options(0) else ""
        share = f"{way.lowest:.2f} to {way.highest:.2f}"
        rows.append([setup.algorithm, *map(str, (channels, setup.nics, segments)), share])
    return _columns(rows) if ways else iter(["none"])


def _verdict(found: Mapping[float, Sequence[Consistent]]) -> str:
    """Return what the lists say about channels and cards."""
    from collectives.case_study import at_line_rate, fewest

    words = [
        f"{seconds(time)} takes {fewest(ways)} network cards of a node at least."
        if ways
        else f"{seconds(time)} is not to be had."
        for time, ways in found.items()
    ]
    few = " and ".join(f"{seconds(at_line_rate(channels))} on {channels}" for channels in (2, 4))
    words.append(f"Even at line rate a ring takes {few} channels, each with a card of its own.")
    return " ".join(words)
