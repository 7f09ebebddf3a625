"""The command line: list the algorithms, show one, run one and check it.

Exit codes: 0 if all held, 1 if a fault was found, 2 if the request could not be carried out.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from collectives.draw import tables, text
from collectives.launch import World, abort_on_error, agree, everywhere, launch_rank, under_mpi
from collectives.op import PREDEFINED
from collectives.registry import algorithms, find, known_collective

app = typer.Typer(
    help=__doc__, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False
)

CollectiveName = Annotated[str, typer.Argument(help="such as allreduce")]
Ranks = Annotated[
    int | None, typer.Option("-p", "--ranks", min=1, help="simulated ranks; under mpirun, its own")
]


def main() -> None:
    """Run the command line; what the user got wrong is one sentence and exit code 2."""
    if launch_rank() != 0 and sys.argv[1:2] != ["run"]:
        return  # under mpirun, say it once
    try:
        app()
    except ValueError as error:
        _fail(str(error))


def _fail(message: str) -> None:
    if launch_rank() == 0:
        print(f"collectives: {message}", file=sys.stderr)
    sys.exit(2)


@app.command("list")
def list_(
    collective: Annotated[str | None, typer.Argument(help="only this one's")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="as the README has it")] = False,
) -> None:
    """List the algorithms: what they need, send and keep."""
    entries = list(algorithms(collective))
    if as_json:
        print(json.dumps([tables.as_json(entry) for entry in entries], indent=2))
    elif as_markdown:
        print(tables.markdown(entries))
    else:
        for name in dict.fromkeys(entry.collective for entry in entries):
            print(text.bold(name))
            print(tables.plain(entry for entry in entries if entry.collective == name) + "\n")
        print("p ranks, n elements. volume: elements sent by all ranks; alphas: messages one after")
        print("the other on the longest path; order: whether operands keep that of the ranks")


@app.command()
def show(
    collective: CollectiveName,
    name: Annotated[str, typer.Argument(help="such as ring")],
    ranks: Annotated[int, typer.Option("-p", "--ranks", min=1, help="in the step table")] = 4,
) -> None:
    """Show an algorithm: its documentation, its code, and a run step by step (simulated)."""
    from collectives.draw.steps import TABLE_RANKS, contribution_table, watch
    from collectives.sim import simulate

    entry = find(collective, name)
    body = inspect.unwrap(entry.function)
    print(text.bold(f"{entry.function.__name__}{inspect.signature(body)}\n"))
    print(inspect.getdoc(entry.function))
    print(f"\n{text.bold(str(inspect.getsourcefile(body)))}\n\n{_without_docstring(body)}")
    if ranks > TABLE_RANKS:
        raise ValueError(f"-p is {ranks}, the step table holds up to {TABLE_RANKS}")
    if entry.kind == "step by step":
        print(f"{text.bold(f'{ranks} ranks, step by step')} (simulated; * = changed)\n")
        run = simulate(lambda comm: watch(entry, comm), ranks)
        for line in contribution_table(run.results):
            print(line)


@app.command()
def run(
    collective: CollectiveName,
    name: Annotated[
        str,
        typer.Argument(help="an algorithm such as ring, or module:function, or file.py:function"),
    ],
    elements: Annotated[int, typer.Option(min=0, help="as in the signature")] = 1000,
    dtype: Annotated[str, typer.Option(help="NumPy number type")] = "float64",
    op: Annotated[str, typer.Option(help=f"one of {', '.join(PREDEFINED)}")] = "SUM",
    root: Annotated[int, typer.Option(help="for rooted collectives")] = 0,
    in_place: Annotated[bool, typer.Option("--in-place", help="input in the result")] = False,
    ranks: Ranks = None,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Run an algorithm and check it against the built-in and the serial definition."""
    from collectives.oracle.cases import Case
    from collectives.oracle.crosscheck import crosscheck
    from collectives.sim import SimulationError

    known_collective(collective)
    entry = _target(collective, name)
    if ranks is not None and under_mpi():
        raise ValueError(f"-p {ranks}: under mpirun, mpirun decides how many ranks")
    if op not in PREDEFINED:
        raise ValueError(f"op is {op}, wants one of {', '.join(PREDEFINED)}")
    number_type = _number_type(dtype)

    PREDEFINED[op].check(number_type)

    def program(comm: Any) -> list[Any] | str:
        case = Case(collective, comm.size, elements, PREDEFINED[op], root, in_place=in_place)
        builtin = find(collective, "builtin") if hasattr(comm, "Allreduce") else None
        try:
            return list(crosscheck(entry, builtin, comm, case, number_type))
        except ValueError as error:
            if ":" in name:  # a stranger's function: this rank alone may have failed
                raise
            return str(error)  # our argument checks say the same on all ranks

    with abort_on_error():
        try:
            world = everywhere(program, ranks=ranks or 8)
        except SimulationError as error:
            print(f"{collective}/{name}  p={ranks or 8}, simulated: FAIL\n{error}")
            sys.exit(1)
        code = agree(_report(world, collective, name, elements, number_type, as_json))
    sys.exit(code)


def _target(collective: str, name: str) -> Callable[..., None]:
    """Return the function meant: a registered algorithm, or one from a module or file."""
    if ":" not in name:
        return find(collective, name).function
    place, _, function = name.rpartition(":")
    if place.endswith(".py"):
        if not Path(place).is_file():
            raise ValueError(f"there is no file {place}")
        spec = importlib.util.spec_from_file_location(Path(place).stem, place)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, "")
        module = importlib.import_module(place)
    found = getattr(module, function, None)
    if not callable(found):
        raise ValueError(f"{place} has no function {function!r}")
    return found  # type: ignore[no-any-return]


def _number_type(name: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(name)
    except TypeError:
        raise ValueError(f"NumPy has no type {name!r}") from None
    if dtype.kind not in "biufc" or not dtype.isnative:
        raise ValueError(f"dtype is {dtype}, wants a number type in native byte order")
    return dtype


def _without_docstring(function: Callable[..., None]) -> str:
    """Return the source of a function, without its documentation."""
    source = inspect.getsource(function)
    before, quotes, rest = source.partition('"""')
    return before.rstrip() + rest.partition('"""')[2] if quotes else source


def _report(
    world: World, collective: str, name: str, elements: int, dtype: np.dtype[Any], as_json: bool
) -> int:
    """Print on rank 0 what all ranks found; return the exit code."""
    if not world.results:
        return 0
    if isinstance(world.results[0], str):
        print(f"collectives: {world.results[0]}", file=sys.stderr)
        return 2
    checks = []
    for findings in zip(*world.results, strict=True):
        failed = [finding for finding in findings if not finding.passed]
        shown = (failed or list(findings))[0]
        checks.append({"check": shown.check, "passed": not failed, "detail": shown.detail})
    where = world.library or "simulated"
    if as_json:
        document = {"collective": collective, "algorithm": name, "ranks": world.size}
        document |= {"elements": elements, "dtype": str(dtype), "library": where, "checks": checks}
        print(json.dumps(document, indent=2))
    else:
        print(f"{collective}/{name}  p={world.size} n={elements} {dtype}, {where}")
        for check in checks:
            word = text.bold("PASS" if check["passed"] else "FAIL")
            print(f"  {check['check']:10}{word}  {check['detail']}")
    return int(not all(check["passed"] for check in checks))
