"""The list of algorithms: `algorithm` enters a function, `find` and `algorithms` look it up.

A function named ``<collective>_<name>`` and decorated with `algorithm` is all there is to an
algorithm: argument checks, the private communicator, requirements, documentation, tests, tables
and the command line follow from it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec

from collectives import arguments
from collectives.comm import Comm, is_private, private
from collectives.cost import Cost
from collectives.op import Op

COLLECTIVES = ("bcast", "reduce", "allgather", "reduce_scatter", "allreduce")
"""In the order in which they are taught."""


class UnsupportedError(ValueError):
    """This algorithm cannot do what was asked for; another one may. It is never run instead."""


@dataclass(frozen=True)
class Requirement:
    """Something an algorithm needs: `holds` decides it, `got` says what there was instead."""

    name: str
    holds: Callable[[Comm, Op | None], bool]
    got: Callable[[Comm, Op | None], str]


commutative = Requirement(
    "commutative",
    lambda comm, op: op is None or op.commutative,
    lambda comm, op: f"op={op}",
)
mpi = Requirement(
    "mpi",
    lambda comm, op: hasattr(comm, "Allreduce"),
    lambda comm, op: type(comm).__name__,
)


@dataclass(frozen=True)
class Algorithm:
    """One entry of the registry.

    Attributes
    ----------
    collective, name : str
        As in ``allreduce`` and ``ring``.
    kind : str
        ``step by step`` or ``built-in``.
    function : callable
        What users call.
    cost : callable or None
        ``cost(p, n, ...)`` in elements, see `collectives.cost.Cost`; None for built-ins.
    requires : tuple of Requirement
        What `function` refuses to do without.
    keeps_order : bool
        Whether operands are combined in ascending rank order.
    source : str
        Authors, venue, year, doi.
    """

    collective: str
    name: str
    kind: str
    function: Callable[..., None]
    cost: Callable[..., Cost] | None
    requires: tuple[Requirement, ...]
    keeps_order: bool
    source: str

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]

    @property
    def formulas(self) -> dict[str, str]:
        """The formulas stated in the docstring's Notes, such as ``{"messages": "p - 1"}``."""
        notes = (self.function.__doc__ or "").partition("Notes\n")[2]
        return dict(re.findall(r"^ *(\w+) : ``(.+)``$", notes, flags=re.MULTILINE))

    def __str__(self) -> str:
        return f"{self.collective}/{self.name}"


_algorithms: dict[tuple[str, str], Algorithm] = {}

P = ParamSpec("P")


def algorithm(
    *,
    source: str,
    cost: Callable[..., Cost] | None = None,
    requires: Sequence[Requirement] = (),
    keeps_order: bool = False,
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Enter a function named ``<collective>_<name>`` into the registry.

    The decorated function checks its arguments, raises UnsupportedError where a requirement does
    not hold, and runs the body on the private duplicate of the communicator. Called on such a
    duplicate, that is by another algorithm, it is the body and nothing else.
    """

    def enter(body: Callable[P, None]) -> Callable[P, None]:
        collective = max((c for c in COLLECTIVES if body.__name__.startswith(f"{c}_")), key=len)
        check = getattr(arguments, collective)
        options = set(inspect.signature(body).parameters) - set(inspect.signature(check).parameters)

        @functools.wraps(body)
        def call(comm: Any, *args: Any, **kwargs: Any) -> None:
            if is_private(comm):
                return body(comm, *args, **kwargs)
            chosen = {name: kwargs.pop(name) for name in options & kwargs.keys()}
            prepared = check(comm, *args, **kwargs)
            for requirement in entry.requires:
                op = prepared.get("op")
                if not requirement.holds(comm, op):
                    got = requirement.got(comm, op)
                    raise UnsupportedError(f"{entry} needs {requirement.name}; got {got}")
            return body(private(comm), **prepared, **chosen)

        name = body.__name__.removeprefix(f"{collective}_")
        kind = "built-in" if name == "builtin" else "step by step"
        call.__doc__ = _documentation(body, source)
        entry = Algorithm(
            collective, name, kind, call, cost, tuple(requires), keeps_order, source
        )  # fmt: skip
        _algorithms.setdefault((collective, name), entry)  # a copy elsewhere replaces nothing
        return call  # type: ignore[return-value]

    return enter


def _documentation(body: Callable[..., None], source: str) -> str:
    """Return the docstring of `body`, completed by what its collective's functions share."""
    own = inspect.getdoc(body) or ""
    package = sys.modules.get(body.__module__.rpartition(".")[0])
    shared = inspect.cleandoc(getattr(package, "__doc__", None) or "")
    start, end = shared.find("Parameters\n---"), shared.find("Algorithms\n---")
    parameters = shared[start:end].strip() if start >= 0 else ""
    idea, notes, rest = own.partition("Notes\n-----")
    sections = (idea.strip(), parameters, (notes + rest).strip())
    before_example, example, code = "\n\n".join(s for s in sections if s).partition("Examples\n---")
    references = f"References\n----------\n{source}\n\n"
    return f"{before_example.strip()}\n\n{references}{example}{code}".strip() + "\n"


def algorithms(collective: str | None = None) -> Iterator[Algorithm]:
    """Yield every algorithm, or those of one collective, in teaching order."""
    for name in COLLECTIVES if collective is None else (known_collective(collective),):
        importlib.import_module(f"collectives.algorithms.{name}")
        yield from [entry for entry in _algorithms.values() if entry.collective == name]


def find(collective: str, name: str) -> Algorithm:
    """Return one algorithm; UnsupportedError lists what there is."""
    known = {entry.name: entry for entry in algorithms(collective)}
    if name not in known:
        raise UnsupportedError(f"{collective} has no algorithm {name!r}; it has {', '.join(known)}")
    return known[name]


def known_collective(name: str) -> str:
    """Return `name` where it is a collective's; UnsupportedError lists what there is."""
    if name not in COLLECTIVES:
        raise UnsupportedError(f"no collective {name!r}; there are {', '.join(COLLECTIVES)}")
    return name
