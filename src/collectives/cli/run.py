"""``collectives run``: run algorithms and check them."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from collectives.cli import app
from collectives.cli.options import Ranks
from collectives.draw import text
from collectives.dtypes import number_type
from collectives.launch import World, abort_on_error, agree, everywhere, under_mpi
from collectives.op import PREDEFINED
from collectives.registry import UnsupportedError, algorithms, find, known_collective


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
    as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Run algorithms and check them against the built-in and the serial definition."""
    from collectives.oracle.cases import Case
    from collectives.oracle.crosscheck import crosscheck
    from collectives.sim import SimulationError

    if ranks is not None and under_mpi():
        raise ValueError(f"-p {ranks}: under mpirun, mpirun decides how many ranks")
    if op not in PREDEFINED:
        raise ValueError(f"op is {op}, wants one of {', '.join(PREDEFINED)}")
    numbers = number_type(dtype)
    PREDEFINED[op].check(numbers)
    targets = _targets(collective, name)

    def check(comm: Any, target: _Target) -> list[Any] | str:
        case = Case(target.collective, comm.size, elements, PREDEFINED[op], root, None, in_place)
        builtin = find(target.collective, "builtin") if hasattr(comm, "Allreduce") else None
        if case.rooted and not 0 <= root < comm.size:
            return f"root is {root}, wants 0..{comm.size - 1}"
        try:
            return list(crosscheck(target.function, builtin, comm, case, numbers))
        except UnsupportedError as error:  # on all ranks alike, before any message
            return str(error)
        except Exception as error:
            if under_mpi():  # this rank may be the only one to fail, and cannot ask the others
                error.add_note(_explanation(target, comm.size))
            raise

    with abort_on_error():
        try:
            world = everywhere(lambda comm: [check(comm, t) for t in targets], ranks=ranks or 8)
        except SimulationError as error:
            print(f"{collective}/{name}  p={ranks or 8}, simulated: FAIL\n{error}")
            if len(targets) == 1:
                print(_explanation(targets[0], ranks or 8))
            sys.exit(1)
        code = 0
        if world.results:
            outcomes = [
                _outcome(t, found) for t, *found in zip(targets, *world.results, strict=True)
            ]
            code = _report(world, outcomes, f"n={elements} {numbers}", as_json)
        code = agree(code)
    sys.exit(code)


@dataclass(frozen=True)
class _Target:
    collective: str
    name: str
    function: Callable[..., None]


def _explanation(target: _Target, p: int) -> str:
    """Return what simulated ranks with blocks of one element find wrong where a call broke off."""
    from collectives.oracle.cases import Case
    from collectives.oracle.properties import every_rank_counted_once

    case = Case(target.collective, p)
    case = replace(case, n=1 if case.by_blocks else p)
    found = every_rank_counted_once(target.function, case)
    return f"in simulation: {found or 'all is well with p equal blocks'}"


def _targets(collective: str, name: str) -> list[_Target]:
    """Return what is meant: registered algorithms, or a function of a module or file."""
    if collective == "ALL" or name == "ALL":
        entries = algorithms(None if collective == "ALL" else collective)
        return [_Target(e.collective, e.name, e.function) for e in entries]
    known_collective(collective)
    if ":" not in name:
        return [_Target(collective, name, find(collective, name).function)]
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
    return [_Target(collective, name, found)]


def _outcome(target: _Target, found: list[Any]) -> dict[str, Any]:
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
