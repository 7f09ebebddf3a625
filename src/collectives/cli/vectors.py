"""``collectives vectors``: test vectors on disk, for implementations in any language."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from collectives.cli import app
from collectives.cli.options import rank_counts
from collectives.dtypes import number_type

vectors = typer.Typer(help="Test vectors on disk, for any language: write, check.")
app.add_typer(vectors, name="vectors", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="the set of vectors")]
Collective = Annotated[str, typer.Argument(help="such as allreduce; ALL for all that have data")]


@vectors.command()
def write(
    folder: Folder,
    collective: Collective = "ALL",
    ranks: Annotated[str, typer.Option("-p", "--ranks", help="such as 8, 1-9 or 1,2,4")] = "1-9",
    quick: Annotated[bool, typer.Option("--quick", help="fewer cases")] = False,
    dtype: Annotated[
        str, typer.Option(help="only these, with commas; the first one in most cases")
    ] = "",
) -> None:
    """Write inputs and expected results as .npy files, and manifest.json, which describes them."""
    from collectives.oracle.vectors import write as write_set
    from collectives.oracle.vectors.plan import DTYPES, IN_SETS

    chosen = dtype.split(",") if dtype else [name for name in DTYPES if _is_known(name)]
    unknown = [name for name in chosen if name not in DTYPES]
    if unknown:
        raise ValueError(f"dtype is {unknown[0]}, wants some of {', '.join(DTYPES)}")
    collectives = IN_SETS if collective == "ALL" else [collective]
    sizes = rank_counts(ranks) or [*range(1, 10)]
    with _progress("cases written") as tell:
        number = write_set(
            folder,
            collectives,
            sizes,
            chosen,
            quick=quick,
            progress=lambda n: tell(n, None),
        )
    print(f"{number} cases in {folder}: write your results where manifest.json says, then")
    print(f"collectives vectors check {folder}")
    left_out = [name for name in DTYPES if name not in chosen]
    if left_out and not dtype:
        print(f"without {', '.join(left_out)}, which needs ml_dtypes: pip install ml_dtypes")


@vectors.command()
def check(
    folder: Folder,
    collective: Collective = "ALL",
    case: Annotated[str, typer.Option(help="only this one, by the name in manifest.json")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
    junit: Annotated[Path | None, typer.Option(help="write JUnit XML to this file")] = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="as Markdown")] = False,
) -> None:
    """Judge the results that an implementation has written; exit code 2 if there are none."""
    from collectives.oracle.vectors import Vectors

    with _progress("cases judged") as tell:
        report = Vectors(str(folder)).report(collective, case=case, progress=tell)
    if junit is not None:
        junit.write_text(report.junit())
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        print(report.markdown() if as_markdown else report.text())
    sys.exit(report.exit_code)


def _is_known(dtype: str) -> bool:
    """Tell whether arrays of this type can be made here: bfloat16 needs a package."""
    try:
        number_type(dtype)
    except ValueError:
        return False
    return True


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Lend ``tell(done, total)``, which draws a bar on stderr where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn()
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
