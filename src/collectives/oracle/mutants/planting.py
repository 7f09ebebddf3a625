"""How faults are planted: by editing a line of a registered algorithm, or as a function.

A `Family` collects the faults of one kind. Nothing here touches the registry: what is planted is
compiled apart, and held to the claims of the algorithm in which it is planted.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np

from collectives import registry
from collectives.oracle.cases import Case
from collectives.registry import Algorithm, algorithm, find

Body: TypeAlias = Callable[..., None]
Ranks: TypeAlias = Callable[[Case], Collection[int]]
Edit: TypeAlias = tuple[str, str]

STUDENT = "allreduce/student"


@dataclass(frozen=True)
class Mutant:
    """One planted fault.

    Attributes
    ----------
    where, wrong : str
        Such as ``reduce/linear``, and what is wrong there, in a line.
    family : str
        Such as ``F1``; empty where only a claim of the registry is wrong.
    plant : callable
        Returns the wrong algorithm.
    by : str
        The promise that must be seen broken; any, where empty.
    ranks : callable, optional
        Of a case, the ranks one of which must be named; where that is defined.
    hides_from : tuple of str
        Promises that are kept nonetheless.
    equivalent : str
        Why it is no fault, if it is none.
    """

    where: str
    wrong: str
    family: str
    plant: Callable[[], Algorithm]
    by: str = ""
    ranks: Ranks | None = None
    hides_from: tuple[str, ...] = ()
    equivalent: str = ""

    @property
    def collective(self) -> str:
        return self.where.partition("/")[0]

    def __str__(self) -> str:
        return f"{self.family or 'claim'} {self.where}: {self.wrong}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (str(self),)  # other processes plant it themselves


def _named(text: str) -> Mutant:
    from collectives.oracle.mutants import CATALOGUE, EQUIVALENT

    return next(mutant for mutant in (*CATALOGUE, *EQUIVALENT) if str(mutant) == text)


@dataclass
class Family:
    """The faults of one family, in the order in which they are entered."""

    name: str
    mutants: list[Mutant] = field(default_factory=list)

    def edit(
        self, where: str, wrong: str, *edits: Edit, within: str = "", by: str = "",
        ranks: Ranks | None = None, hides_from: str = "", equivalent: str = "",
    ) -> None:  # fmt: skip
        """Enter a fault that is made by replacing lines of the source of `where`.

        Each line must stand there exactly once; what replaces it has NumPy as ``np``.
        `within` is the module that is edited where that is another one, whose functions `where`
        uses. `hides_from` has names between spaces.
        """
        self.mutants.append(
            Mutant(where, wrong, self.name, lambda: edited(where, edits, within), by, ranks,
                   tuple(hides_from.split()), equivalent)
        )  # fmt: skip

    def function(
        self, where: str, wrong: str, *, decorated: bool = True, by: str = "",
        ranks: Ranks | None = None, hides_from: str = "", equivalent: str = "",
    ) -> Callable[[Body], Body]:  # fmt: skip
        """Enter a fault that is a function; it is held to the claims of `where`.

        Decorated, it has its arguments checked and runs on a communicator of its own.
        """

        def enter(body: Body) -> Body:
            self.mutants.append(
                Mutant(where, wrong, self.name, lambda: as_algorithm(body, where, decorated), by,
                       ranks, tuple(hides_from.split()), equivalent)
            )  # fmt: skip
            return body

        return enter


# ------------------------------------------------------------------ which ranks show it


def at_root(case: Case) -> Collection[int]:
    return {case.root}


def not_root(case: Case) -> Collection[int]:
    return set(range(case.p)) - {case.root}


def at_last(case: Case) -> Collection[int]:
    return {case.p - 1}


def rank(*ranks: int) -> Ranks:
    return lambda case: set(ranks)


# ------------------------------------------------------------------ making it


def edited(where: str, edits: Collection[Edit] = (), within: str = "") -> Algorithm:
    """Return the algorithm `where` with its source edited; AssertionError where that has changed.

    Examples
    --------
    >>> edited("scan/linear", [("op(before, sendbuf", "op(sendbuf, before")]).name
    'linear'
    >>> edited("scan/linear", [("no such line", "")])
    Traceback (most recent call last):
    AssertionError: 'no such line' stands 0 times in scan/linear: adapt the fault to it
    """
    with _empty_registry() as entries:
        changed = _compiled(within, edits) if within else {}
        names = _compiled(where, () if within else edits)
    for name, value in changed.items():  # as if `where` had imported the edited module
        if callable(value) and getattr(value, "__module__", "") == changed["__name__"]:
            names[name] = value
    if where == STUDENT:
        return as_algorithm(names["allreduce_student"])
    collective, name = where.split("/")
    return entries[collective, name]


def _compiled(where: str, edits: Collection[Edit]) -> dict[str, Any]:
    """Return the names of an edited module."""
    path = f"algorithms.{where.replace('/', '.')}"
    if where == STUDENT:
        path = "oracle.mutants.student"
    module = importlib.import_module(f"collectives.{path}")
    source = inspect.getsource(module)
    for old, new in edits:
        times = source.count(old)
        if times != 1:
            raise AssertionError(f"{old!r} stands {times} times in {where}: adapt the fault to it")
        source = source.replace(old, new)
    names: dict[str, Any] = {"__name__": module.__name__, "np": np}
    exec(compile(source, f"{where.rpartition('/')[2]}.py", "exec"), names)
    return names


def as_algorithm(body: Body, of: str = "allreduce/ring", decorated: bool = True) -> Algorithm:
    """Return the entry `of` with `body` as its function, decorated as an algorithm is."""
    real = find(*of.split("/"))
    body.__name__ = real.function.__name__
    function = body
    if decorated:
        with _empty_registry():
            function = algorithm(source=real.source, requires=real.requires)(body)
    else:
        function.__signature__ = inspect.signature(real.function)  # type: ignore[attr-defined]
    function.__doc__ = real.function.__doc__
    return replace(real, function=function)


def real_body(where: str) -> Any:
    """Return the body of a registered algorithm, whose arguments nobody has checked."""
    return inspect.unwrap(find(*where.split("/")).function)


def call_of(where: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call of a registered algorithm, communicator and all, by name."""
    bound = inspect.signature(find(*where.split("/")).function).bind(*given, **named)
    bound.apply_defaults()
    return bound.arguments


@contextmanager
def _empty_registry() -> Iterator[dict[tuple[str, str], Algorithm]]:
    """Let a copy be entered that the rest of the program never sees."""
    list(registry.algorithms())  # what is real is loaded before
    entries: dict[tuple[str, str], Algorithm] = {}
    with patch.object(registry, "_algorithms", entries):
        yield entries
