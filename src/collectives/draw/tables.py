"""The registry as tables: for the terminal, for README and docstrings, as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from collectives.registry import Algorithm


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
    }


def markdown(entries: Iterable[Algorithm]) -> str:
    """Return the table of the README: one line per algorithm, with a link to its file."""
    lines = [
        "| algorithm | messages | elements sent | steps | elements in a row | needs | order kept |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for entry in entries:
        folder = f"src/collectives/algorithms/{entry.collective}"
        cells = [
            f"[{entry}]({folder}/{entry.name}.py)",
            *(f"`{entry.formulas[name]}`" if entry.formulas else "the library's"
              for name in ("messages", "volume", "alphas", "betas")),
            ", ".join(requirement.name for requirement in entry.requires) or "-",
            "yes" if entry.keeps_order else "no",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def plain(entries: Iterable[Algorithm]) -> str:
    """Return the table that a collective's docstring shows: formulas, needs, order."""
    names = ("messages", "volume", "alphas")
    rows: list[tuple[str, ...]] = [("algorithm", *names, "needs", "order")]
    for entry in entries:
        formulas = [entry.formulas.get(name, "-") for name in names]
        needs = ", ".join(requirement.name for requirement in entry.requires) or "-"
        rows.append((entry.name, *formulas, needs, "kept" if entry.keeps_order else "any"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in [rule, lines[0], rule, *lines[1:], rule])
