"""``collectives fingerprint``: in which order a library, or a function, adds up floats."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from collectives.cli import app, quantities
from collectives.cli.options import Ranks
from collectives.draw import text
from collectives.dtypes import number_type
from collectives.launch import abort_on_error, agree, everywhere, launch_rank, under_mpi
from collectives.registry import UnsupportedError

if TYPE_CHECKING:
    from collectives.oracle.declared import Parts
    from collectives.oracle.fingerprint import Fingerprint
    from collectives.oracle.targets import Target

SHOWN = 16
"""Parts of a vector, and ranks, whose trees are printed."""

PATIENCE = 60.0
"""Seconds that a target with processes of its own may take without a sign of life."""


@dataclass(frozen=True)
class _Row:
    """What was found at one size; `broken` says where the predicted bits are not there."""

    nbytes: int
    found: Fingerprint
    broken: str | None


@app.command("fingerprint")
def fingerprint_(
    collective: Annotated[
        str, typer.Argument(help="reduce, reduce_scatter, allreduce, scan or exscan")
    ] = "allreduce",
    name: Annotated[
        str, typer.Argument(help="an algorithm such as ring, or module:function, file.py:function")
    ] = "",
    target: Annotated[
        str,
        typer.Option(help="mpi (as without a name under mpirun), torch:gloo, clib:PATH:SYMBOL"),
    ] = "",
    dtype: Annotated[str, typer.Option(help="float64, float32, float16 or bfloat16")] = "float64",
    sizes: Annotated[
        str,
        typer.Option(help="of the whole vector, in bytes: a list, gaps filled by doubling twice"),
    ] = "8,1KiB,...,1MiB",
    root: Annotated[int, typer.Option(help="of a reduce")] = 0,
    ranks: Ranks = None,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Find out in which order sums are added: the tree, by size, and which algorithms have it.

    For a known tree, sums of random numbers must have exactly the bits that it predicts.
    """
    if ranks is not None and under_mpi():
        raise ValueError(f"-p {ranks}: under mpirun, mpirun decides how many ranks")
    chosen = _target(collective, name, target)
    subject = chosen.subjects(collective)[0]
    survey = partial(
        _survey,
        subject.function,
        collective,
        quantities.each("sizes", sizes, quantities.size, factor=4),
        _float_type(dtype),
        root,
    )
    with abort_on_error():
        p, where, rows = _run(survey, chosen, ranks)
        code = 0
        if isinstance(rows, str):
            code = 2
            print(f"collectives: {rows}", file=sys.stderr)
        elif rows and launch_rank() == 0:
            code = int(any(row.broken or not row.found.agree for row in rows))
            of = f"{collective}/{subject.name}" if name else f"{collective} of {chosen.name}"
            if as_json:
                document = {"ranks": p, "world": where, "target": of, "dtype": dtype}
                print(json.dumps(document | {"sizes": [*map(_as_json, rows)]}, indent=2))
            else:
                print(f"{text.bold(of)}  p={p} {dtype}, {where}")
                for line in _report(rows):
                    print(line)
        code = agree(code)
    sys.exit(code)


def _target(collective: str, name: str, target: str) -> Target:
    from collectives.oracle.fingerprint import REDUCING
    from collectives.oracle.targets import functions, target_named

    if collective not in REDUCING:
        raise ValueError(f"{collective} adds nothing up; {', '.join(REDUCING)} do")
    if name and target:
        raise ValueError(f"{name} and --target {target}: one of the two, please")
    if not name and not target and not under_mpi():
        raise ValueError("the MPI library runs under mpirun; a simulated run needs a name")
    return functions(collective, name) if name else target_named(target or "mpi")


def _float_type(dtype: str) -> str:
    from collectives.oracle.order_probe import DTYPES

    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype}, wants one of {', '.join(DTYPES)}")
    return dtype


def _run(
    survey: partial[list[_Row] | str], chosen: Target, ranks: int | None
) -> tuple[int, str, list[_Row] | str]:
    """Run where the target is; return how many ranks, where, and rows, on rank 0 at least."""
    from collectives.oracle.targets import MpiLibrary, OfPython
    from collectives.sim import SimulationError

    if not isinstance(chosen, MpiLibrary | OfPython):
        world = chosen.world(PATIENCE)
        p = ranks or max(size for size in world.sizes if size <= 8)
        return p, world.name, survey(p, world)
    if under_mpi():
        ran = everywhere(lambda comm: survey(comm.size, comm))
        return ran.size, ran.library, next(iter(ran.results), [])
    p = ranks or 8
    try:
        return p, "simulated", survey(p, None)
    except SimulationError as error:
        print(f"collectives: {error}", file=sys.stderr)
        sys.exit(1)


def _survey(
    function: Any, collective: str, nbytes: Sequence[int], dtype: str, root: int, p: int, world: Any
) -> list[_Row] | str:
    """Return what is found at each size, or why nothing can be; on all ranks alike."""
    from collectives.oracle.fingerprint import broken_prediction, fingerprint
    from collectives.oracle.order_probe import MOST_RANKS

    if not 0 <= root < p:
        return f"root is {root}, wants 0..{p - 1}"
    if p > MOST_RANKS:
        return f"p is {p}, the order probe looks at up to {MOST_RANKS} ranks"
    size = number_type(dtype).itemsize * (p if collective == "reduce_scatter" else 1)
    rows = []
    try:
        for n in dict.fromkeys(max(1, whole // size) for whole in nbytes):
            found = fingerprint(function, world, collective, p, n, dtype, root=root)
            known = found.is_predictable
            broken = broken_prediction(function, world, found) if known else None
            rows.append(_Row(n * size, found, broken))
    except UnsupportedError as error:  # before any message
        return str(error)
    return rows


# ------------------------------------------------------------------ how it is shown


def _report(rows: Sequence[_Row]) -> Iterator[str]:
    """Yield the lines that say what was found, sizes with the same findings together."""
    for _, same in groupby(rows, lambda row: [*_findings(row)]):
        first, *more = same
        last = f" to {_bytes(more[-1].nbytes)}" if more else ""
        yield f"\n{text.bold(_bytes(first.nbytes) + last)}"
        for label, lines in _findings(first):
            for line in lines:
                yield f"  {label:13} {line}"
                label = ""


def _findings(row: _Row) -> Iterator[tuple[str, list[str]]]:
    """Yield what is said about one size, each with its label."""
    found = row.found
    yield "tree", [*_trees(found)]
    yield "depth", [text.many(found.depth, "addition") + " in a row"]
    if found.case.same_everywhere:
        yield "ranks", [*_agreement(found)]
    if found.varies:
        yield "calls", ["another tree in every call: operands are added as they come"]
    elif not found.fits:
        yield "calls", ["no order of rounded additions explains the sums; { } is what is left open"]
    if found.case.p > 2 and found.fits:
        width = "wider than" if found.is_wide else "as wide as"
        yield "accumulator", [f"{width} the elements"]
    if found.fits:
        sides = (
            "as printed, for a user-made operation"
            if found.order_seen
            else "not seen; the lowest rank is printed first"
        )
        yield "left operand", [sides]
    yield "registered", [*_match(found)]
    yield "random floats", _wrapped(_prediction(row))


def _trees(found: Fingerprint) -> Iterator[str]:
    """Yield what is said about the trees of a result, where it is long in part."""
    if found.case.collective in ("scan", "exscan"):
        for rank, parts in [(r, parts) for r, parts in enumerate(found.parts) if parts][:SHOWN]:
            yield f"rank {rank}: {_one_line(parts)}"
        return
    vector = found.vector
    if len(vector) == 1:
        yield f"{vector[0].tree}"
    elif found.rotates:
        yield f"{vector[0].tree} in block 0"
        yield "rotates with the block: in each next one, all ranks are one higher"
    else:
        for number, part in enumerate(vector[:SHOWN]):
            yield f"{part.tree} in part {number} of {len(vector)}"


def _one_line(parts: Parts) -> str:
    return "; ".join(dict.fromkeys(str(part.tree) for part in parts))


def _agreement(found: Fingerprint) -> Iterator[str]:
    """Yield whether all ranks add in the same grouping, and if not, which one each of them has."""
    if found.agree:
        yield "all add in the same grouping"
        return
    yield "they do NOT agree (rank-dependent order): results differ in their last bits"
    for rank, parts in enumerate(found.parts[:SHOWN]):
        yield f"rank {rank}: {_one_line(parts)}"


def _match(found: Fingerprint) -> Iterator[str]:
    """Yield the lines that name the registered algorithms that add like this."""
    others = [name for name in found.matches if found.order_seen and name not in found.same_order]
    alike = [name for name in found.matches if name not in others]
    if alike:
        yield from _wrapped(", ".join(alike))
    if others:
        yield from _wrapped(f"with operands on other sides: {', '.join(others)}")
    if found.elsewhere:
        yield from _wrapped(f"with these trees at other elements: {', '.join(found.elsewhere)}")
    if not found.matches and not found.elsewhere:
        yield "no algorithm adds like this"


def _prediction(row: _Row) -> str:
    """Return what came of the bits that the trees predict."""
    if row.broken:
        return f"FAIL: {row.broken}"
    if not row.found.is_predictable:
        return "not predicted: there is not one known tree of rounded additions of two"
    return "PASS: bit by bit what the tree predicts, on all ranks"


def _as_json(row: _Row) -> dict[str, Any]:
    found = row.found
    return {
        "bytes": row.nbytes,
        "elements": found.case.n,
        "ranks_agree": found.agree,
        "fits": found.fits,
        "varies": found.varies,
        "wide_accumulator": found.is_wide,
        "depth": found.depth,
        "operand_order_seen": found.order_seen,
        "rotates": found.rotates,
        "trees": [[[x.start, x.stop, str(x.tree)] for x in parts] for parts in found.parts],
        "matches": found.matches,
        "same_operand_order": found.same_order,
        "elsewhere": found.elsewhere,
        "predicted": found.is_predictable,
        "broken": row.broken,
    }


def _wrapped(words: str) -> list[str]:
    return wrap(words, text.WIDTH - 16, break_on_hyphens=False)


def _bytes(size: int) -> str:
    """Write a number of bytes in powers of two, where it is round in them."""
    for unit, value in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= value and size % value == 0:
            return f"{size // value} {unit}"
    return f"{size} B"
