"""``collectives list`` and ``show``: what there is."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Annotated

import typer

from collectives.cli import app
from collectives.cli.options import CollectiveName
from collectives.draw import tables, text
from collectives.registry import algorithms, find


@app.command("list")
def list_(
    collective: Annotated[str | None, typer.Argument(help="only this one's")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="as the README has it")] = False,
) -> None:
    """List the algorithms: what they need, send and keep, and which libraries ship them."""
    entries = list(algorithms(collective))
    if as_json:
        print(json.dumps([tables.as_json(entry) for entry in entries], indent=2))
    elif as_markdown:
        print(tables.markdown(entries))
    else:
        for name in dict.fromkeys(entry.collective for entry in entries):
            print(text.bold(name))
            own = [entry for entry in entries if entry.collective == name]
            print(f"{tables.plain(own)}\n\nShipped as:\n{tables.origins(own)}\n")
        print(tables.EXPLANATION)


@app.command()
def show(
    collective: CollectiveName,
    name: Annotated[str, typer.Argument(help="such as ring")],
    ranks: Annotated[int, typer.Option("-p", "--ranks", min=1, help="in the step table")] = 4,
) -> None:
    """Show an algorithm: its documentation, its code, and a run step by step (simulated)."""
    from collectives.draw.steps import TABLE_RANKS, contribution_table
    from collectives.recorder import record

    entry = find(collective, name)
    body = inspect.unwrap(entry.function)
    print(text.bold(f"{entry.function.__name__}{inspect.signature(body)}\n"))
    print(inspect.getdoc(entry.function))
    print(f"\n{text.bold(str(inspect.getsourcefile(body)))}\n\n{_without_docstring(body)}")
    if ranks > TABLE_RANKS:
        raise ValueError(f"-p is {ranks}, the step table holds up to {TABLE_RANKS}")
    if entry.kind == "step by step":
        print(f"{text.bold(f'{ranks} ranks, step by step')} (simulated; * = changed)\n")
        for line in contribution_table(record(entry, ranks)):
            print(line)


def _without_docstring(function: Callable[..., None]) -> str:
    """Return the source of a function, without its documentation."""
    source = inspect.getsource(function)
    before, quotes, rest = source.partition('"""')
    return before.rstrip() + rest.partition('"""')[2] if quotes else source
