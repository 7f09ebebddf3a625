"""``collectives run``: run algorithms and check them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from collectives.cli import app
from collectives.cli.options import DeviceName, Ranks, RequireGpuAware
from collectives.draw import text
from collectives.dtypes import number_type
from collectives.launch import World, abort_on_error, agree, everywhere, under_mpi
from collectives.op import PREDEFINED
from collectives.registry import UnsupportedError, find

if TYPE_CHECKING:
    import numpy as np

    from collectives.oracle.cases import Case
    from collectives.oracle.promises import Subject


@app.command()
def run(
    collective: Annotated[str, typer.Argument(help="such as allreduce; ALL for all")],
    name: Annotated[
        str,
        typer.Argument(
            help="an algorithm such as ring, or module:function, or file.py:function; ALL for all"
        ),
    ] = "ALL",
    elements: Annotated[int, typer.Option(min=0, help="as in the signature")] = 1000,
    dtype: Annotated[
        str, typer.Option(help="NumPy number type, bfloat16, or such as float8_e5m2")
    ] = "float64",
    op: Annotated[str, typer.Option(help=f"one of {', '.join(PREDEFINED)}")] = "SUM",
    root: Annotated[int, typer.Option(help="for rooted collectives")] = 0,
    in_place: Annotated[bool, typer.Option("--in-place", help="input in the result")] = False,
    ranks: Ranks = None,
    device: DeviceName = "cpu",
    require: RequireGpuAware = False,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Run algorithms and check them against the built-in and the serial definition."""
    from collectives.gpu import placed
    from collectives.oracle.cases import Case
    from collectives.oracle.targets import functions
    from collectives.sim import SimulationError

    if ranks is not None and under_mpi():
        raise ValueError(f"-p {ranks}: under mpirun, mpirun decides how many ranks")
    if op not in PREDEFINED:
        raise ValueError(f"op is {op}, wants one of {', '.join(PREDEFINED)}")
    numbers = number_type(dtype)
    PREDEFINED[op].check(numbers)
    targets = [
        replace(target, function=placed(target.function, device))
        for target in functions(collective, name).functions
    ]

    def check(comm: Any, target: Subject) -> list[Any] | str:
        case = Case(target.collective, comm.size, elements, PREDEFINED[op], root, None, in_place)
        return _checked(comm, target, case, numbers, device)

    with abort_on_error():
        try:
            world = everywhere(lambda comm: [check(comm, t) for t in targets], ranks=ranks or 8)
        except SimulationError as error:
            print(f"{collective}/{name}  p={ranks or 8}, simulated: FAIL\n{error}")
            if len(targets) == 1:
                print(_explanation(targets[0], ranks or 8))
            sys.exit(1)
        code, what = 0, f"n={elements} {numbers}" + (f" on {device}" if device != "cpu" else "")
        if world.results:
            outcomes = [
                _outcome(t, found) for t, *found in zip(targets, *world.results, strict=True)
            ]
            code = _report(world, outcomes, what, as_json)
        code = agree(code)
    sys.exit(code)


def _checked(
    comm: Any, target: Subject, case: Case, dtype: np.dtype[Any], device: str
) -> list[Any] | str:
    """Return what this rank finds of one target; or why it does not do the case."""
    from collectives.gpu import placed
    from collectives.oracle.crosscheck import crosscheck

    builtin = None
    if hasattr(comm, "Allreduce"):
        builtin = find(target.collective, "builtin")
        builtin = replace(builtin, function=placed(builtin.function, device))
    if case.rooted and not 0 <= case.root < comm.size:
        return f"root is {case.root}, wants 0..{comm.size - 1}"
    try:
        return list(crosscheck(target.function, builtin, comm, case, dtype))
    except UnsupportedError as error:  # on all ranks alike, before any message
        return str(error)
    except Exception as error:
        if under_mpi():  # this rank may be the only one to fail, and cannot ask the others
            error.add_note(_explanation(target, comm.size))
        raise


def _explanation(target: Subject, p: int) -> str:
    """Return what simulated ranks with blocks of one element find wrong where a call broke off."""
    from collectives.oracle.cases import Case
    from collectives.oracle.properties import every_rank_counted_once
    from collectives.oracle.worlds import SIMULATED

    case = Case(target.collective, p)
    case = replace(case, n=1 if case.by_blocks else p)
    found = every_rank_counted_once(SIMULATED, target.function, case)
    return f"in simulation: {found or 'all is well with p equal blocks'}"


def _outcome(target: Subject, found: list[Any]) -> dict[str, Any]:
    """Bring together what all ranks found of one target."""
    outcome: dict[str, Any] = {"collective": target.collective, "algorithm": target.name}
    if isinstance(found[0], str):
        return outcome | {"refused": found[0]}
    checks = []
    for findings in zip(*found, strict=True):
        failed = [finding for finding in findings if not finding.passed]
        shown = (failed or list(findings))[0]
        checks.append({"check": shown.check, "passed": not failed, "detail": shown.detail})
    return outcome | {"checks": checks}


def _report(world: World, outcomes: list[dict[str, Any]], what: str, as_json: bool) -> int:
    """Print what was found; return the exit code."""
    failed = [o for o in outcomes if not all(c["passed"] for c in o.get("checks", ()))]
    refused = [o["refused"] for o in outcomes if "refused" in o]
    where = world.library or "simulated"
    if as_json:
        document = {"ranks": world.size, "library": where, "asked": what, "outcomes": outcomes}
        print(json.dumps(document, indent=2))
    elif len(outcomes) == 1 and refused:
        print(f"collectives: {refused[0]}", file=sys.stderr)
    else:
        print(f"p={world.size} {what}, {where}")
        for outcome in outcomes:
            for line in _lines(outcome, whole=len(outcomes) == 1):
                print(line)
        if len(outcomes) > 1:
            held = len(outcomes) - len(failed) - len(refused)
            print(f"{held} held, {len(failed)} failed, {len(refused)} refused")
    if failed:
        return 1
    return 2 if len(refused) == len(outcomes) else 0


def _lines(outcome: dict[str, Any], *, whole: bool) -> Iterator[str]:
    """Yield the lines that say what was found of one target: every check, or the worst one."""
    label = f"{outcome['collective']}/{outcome['algorithm']}"
    if "refused" in outcome:
        yield f"-     {outcome['refused']}"
        return
    checks = outcome["checks"]
    if not whole:
        wrong = next((check for check in checks if not check["passed"]), None)
        checked = ", ".join(check["check"] for check in checks)
        word = text.bold("FAIL" if wrong else "PASS")
        yield f"{word}  {label:36} {wrong['detail'] if wrong else checked}"
        return
    yield label
    for check in checks:
        word = text.bold("PASS" if check["passed"] else "FAIL")
        yield f"  {check['check']:10}{word}  {check['detail']}"
