"""The registry as tables: for the terminal, for README and docstrings, as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from collectives.draw.text import WIDTH, nbytes, seconds
from collectives.oracle.cases import Case
from collectives.registry import Algorithm, commutative

if TYPE_CHECKING:
    from collectives.bench import Machine, Row


def bench_table(rows: Sequence[Row], machine: Machine, p: int, name: str = "") -> str:
    """Return measured times against the built-in's: of one algorithm, or of the best per size."""
    sending = f"1/beta {nbytes(1 / machine.beta)}/s" if machine.beta else "nothing sent"
    fitted = f"alpha {seconds(machine.alpha)}, {sending}"
    lines = [
        f"{p} ranks, medians of the slowest rank; model fitted by ping-pong: {fitted}, "
        f"1/gamma {nbytes(1 / machine.gamma)}/s",
        f"{'':16}{'size':>9}{'built-in':>10}{'step by step':>14}"
        f"{'ratio':>7}{'model':>9}  algorithm",
    ]
    for row in rows:
        shown = name or row.best
        best = f", best {row.best} {seconds(row.times[row.best])}" if name else ""
        lines.append(
            f"{row.collective:16}{nbytes(row.nbytes):>9}{seconds(row.times['builtin']):>10}"
            f"{seconds(row.times[shown]):>14}{row.ratio(shown):>7.2f}"
            f"{seconds(row.models[shown]):>9}  {shown}{best}"
        )
    for what, chosen in (
        ("below 8 kB", [row for row in rows if row.nbytes < 8192]),
        ("from 1 MB on", [row for row in rows if row.nbytes >= 1e6]),
    ):
        ratios = [row.ratio(name or row.best) for row in chosen]
        if ratios:
            lines.append(f"geometric mean of the ratios {what}: {geometric_mean(ratios):.2f}")
    return "\n".join(lines)


def bench_json(rows: Iterable[Row], machine: Machine, p: int) -> dict[str, Any]:
    """Return everything that was measured, in seconds and bytes."""
    return {"ranks": p, "machine": vars(machine), "rows": [vars(row) for row in rows]}


def as_json(entry: Algorithm) -> dict[str, Any]:
    """Return what is known of an algorithm, ready for JSON. Formulas are in p ranks, n elements."""
    volume = entry.formulas.get("volume")
    return {
        "collective": entry.collective,
        "name": entry.name,
        "kind": entry.kind,
        "summary": entry.summary,
        "requires": [requirement.name for requirement in entry.requires],
        "keeps_order": entry.keeps_order,
        "messages": entry.formulas.get("messages"),
        "bytes": f"({volume}) * itemsize" if volume else None,
        "source": entry.source,
        "ships": entry.ships,
        "with_8_ranks": dict(zip(_MEASURES, _cells(entry), strict=False)),
    }


def markdown(entries: Iterable[Algorithm]) -> str:
    """Return the table of the README: one line per algorithm, with a link to its file."""
    names = ["algorithm", *_MEASURES, "needs", "order"]
    lines = [f"| {' | '.join(names)} |", "| --- " * len(names) + "|"]
    for entry in entries:
        file = f"src/collectives/algorithms/{entry.collective}/{entry.name}.py"
        lines.append(f"| {' | '.join([f'[{entry}]({file})', *_cells(entry)])} |")
    return "\n".join(lines)


def plain(entries: Iterable[Algorithm]) -> str:
    """Return the table that a collective's docstring shows."""
    rows = [["algorithm", *_MEASURES, "needs", "order"]]
    rows += [[entry.name, *_cells(entry)] for entry in entries]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in [rule, lines[0], rule, *lines[1:], rule])


def origins(entries: Iterable[Algorithm]) -> str:
    """Return who ships each algorithm, and under which name, or else where it was published."""
    origin = {
        entry.name: entry.ships or f"published: {entry.source}"
        for entry in entries
        if entry.kind == "step by step"
    }
    width = max(map(len, origin)) + 2
    return "\n".join(
        textwrap.fill(f"{name:{width}}{found}", WIDTH, subsequent_indent=" " * width)
        for name, found in origin.items()
    )


def _cells(entry: Algorithm) -> list[str]:
    """Return what is compared of an algorithm, computed from its cost function."""
    needs = ", ".join(need.name for need in entry.requires if need is not commutative) or "none"
    order = "kept" if entry.keeps_order else "any"
    if entry.cost is None:
        return [""] * len(_MEASURES) + [needs, order]
    size = 2**20
    case = Case(entry.collective, 8)
    case = replace(case, n=size // 8 if case.by_blocks else size)
    cost = case.cost(entry.cost)
    assert cost is not None
    most = "" if cost.exact else "<= "
    sent, in_a_row = (f"{volume / size:.4g}" for volume in (cost.volume, cost.betas))
    return [str(cost.messages), sent, f"{most}{cost.alphas}", most + in_a_row, needs, order]


_MEASURES = ("messages", "sent", "steps", "in a row")
EXPLANATION = """\
For 8 ranks and a vector of 2**20 elements: messages of all ranks, what they send together, messages
one after the other on the longest path, and what is sent one after the other; volumes as multiples
of the vector. Order: whether operands are combined in that of the ranks, or in any, so that the
operation has to be commutative."""
