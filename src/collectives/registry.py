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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeAlias

import numpy as np

from collectives import arguments
from collectives.comm import carrier, is_private, private
from collectives.cost import Cost

COLLECTIVES = (
    "barrier",
    "bcast",
    "reduce",
    "scatter",
    "gather",
    "allgather",
    "reduce_scatter",
    "allreduce",
    "scan",
    "exscan",
    "alltoall",
    "neighbor_allgather",
    "neighbor_alltoall",
)
"""In the order in which they are taught."""


class UnsupportedError(ValueError):
    """This algorithm cannot do what was asked for; another one may. It is never run instead."""


Call: TypeAlias = Mapping[str, Any]
"""The arguments of one call by name, options and their defaults too."""


@dataclass(frozen=True)
class Requirement:
    """Something an algorithm needs: `holds` decides it, `got` says what there was instead."""

    name: str
    holds: Callable[[Call], bool]
    got: Callable[[Call], str]


def _p(call: Call) -> str:
    return f"p={call['comm'].size}"


commutative = Requirement(
    "commutative", lambda call: call["op"].commutative, lambda call: f"op={call['op'].name}"
)
power_of_two = Requirement("power_of_two", lambda call: call["comm"].size.bit_count() == 1, _p)
even_size = Requirement("even_size", lambda call: call["comm"].size % 2 == 0, _p)
in_place = Requirement(
    "in_place",
    lambda call: call["sendbuf"] is call["recvbuf"],
    lambda call: "a sendbuf besides recvbuf",
)
equal_blocks = Requirement(
    "equal_blocks",
    lambda call: len({*call["sendcounts"], *call["recvcounts"]}) == 1,
    lambda call: f"sendcounts={[*call['sendcounts']]}, recvcounts={[*call['recvcounts']]}",
)
mpi = Requirement(
    "mpi",
    lambda call: hasattr(call["comm"], "Allreduce"),
    lambda call: type(call["comm"]).__name__,
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
    variants : tuple of dict
        Values of its own options, besides the defaults, with which it is tested.
    ships : str
        Which libraries ship it, each with its name or number for it, such as ``MPICH ring,
        Open MPI 4, NCCL Ring``. ADAPT, HAN, XHC, acoll and libnbc are parts of Open MPI. Empty
        if none is known to.
    """

    collective: str
    name: str
    kind: str
    function: Callable[..., None]
    cost: Callable[..., Cost] | None
    requires: tuple[Requirement, ...]
    keeps_order: bool
    source: str
    variants: tuple[Mapping[str, Any], ...] = ()
    ships: str = ""

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

_BUFFERS = ("recvbuf", "sendbuf", "buf")
"""What arrays are called; any one of them tells the dtype."""

P = ParamSpec("P")


def algorithm(
    *,
    source: str,
    ships: str = "",
    cost: Callable[..., Cost] | None = None,
    requires: Sequence[Requirement] = (),
    keeps_order: bool = False,
    variants: Sequence[Mapping[str, Any]] = (),
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Enter a function named ``<collective>_<name>`` into the registry.

    The decorated function checks its arguments, raises UnsupportedError where a requirement does
    not hold, and runs the body on the private duplicate of the communicator. Called on such a
    duplicate, that is by another algorithm, it is the body and nothing else.
    """

    def enter(body: Callable[P, None]) -> Callable[P, None]:
        collective = max((c for c in COLLECTIVES if body.__name__.startswith(f"{c}_")), key=len)
        check = getattr(arguments, collective)
        shared = inspect.signature(check).parameters
        options = {
            name: parameter.default
            for name, parameter in inspect.signature(body).parameters.items()
            if name not in shared
        }

        @functools.wraps(body)
        def call(comm: Any, *args: Any, **kwargs: Any) -> None:
            if is_private(comm):
                return body(comm, *args, **kwargs)
            chosen = {name: kwargs.pop(name, default) for name, default in options.items()}
            for name, value in chosen.items():
                _check_option(name, value, options[name])
            prepared = check(comm, *args, **kwargs) | chosen
            if requires:
                _demand(entry, {"comm": comm} | prepared)
            for name in _BUFFERS:
                if prepared.get(name) is not None:
                    return body(carrier(comm, prepared[name]), **prepared)
            return body(private(comm), **prepared)

        name = body.__name__.removeprefix(f"{collective}_")
        kind = "built-in" if name == "builtin" else "step by step"
        call.__doc__ = _documentation(body, source, ships)
        entry = Algorithm(
            collective, name, kind, call, cost, tuple(requires), keeps_order, source,
            tuple(variants), ships,
        )  # fmt: skip
        _algorithms.setdefault((collective, name), entry)  # a copy elsewhere replaces nothing
        return call  # type: ignore[return-value]

    return enter


def _demand(entry: Algorithm, call: Call) -> None:
    """Raise UnsupportedError where something that an algorithm requires does not hold."""
    for requirement in entry.requires:
        if not requirement.holds(call):
            raise UnsupportedError(f"{entry} needs {requirement.name}; got {requirement.got(call)}")


def _check_option(name: str, value: Any, default: Any) -> None:
    """Refuse numbers too small for an algorithm's own option."""
    least = 2 if name == "radix" else 1
    if type(default) is int and not (isinstance(value, int | np.integer) and value >= least):
        raise ValueError(f"{name} is {value!r}, wants an integer >= {least}")


def _documentation(body: Callable[..., None], source: str, ships: str) -> str:
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
    references += f"Shipped as {ships}.\n\n" if ships else ""
    return f"{before_example.strip()}\n\n{references}{example}{code}".strip() + "\n"


def algorithms(collective: str | None = None) -> Iterator[Algorithm]:
    """Yield every algorithm, or those of one collective, in teaching order."""
    for each in COLLECTIVES if collective is None else (known_collective(collective),):
        for name in _names(each):
            yield find(each, name)


def find(collective: str, name: str) -> Algorithm:
    """Return one algorithm; UnsupportedError lists what there is."""
    known = _names(known_collective(collective))
    if name not in known:
        raise UnsupportedError(f"{collective} has no algorithm {name!r}; it has {', '.join(known)}")
    importlib.import_module(f"collectives.algorithms.{collective}.{name}")
    return _algorithms[collective, name]


def _names(collective: str) -> list[str]:
    names: list[str] = importlib.import_module(f"collectives.algorithms.{collective}").ALGORITHMS
    return names


def known_collective(name: str) -> str:
    """Return `name` where it is a collective's; UnsupportedError lists what there is."""
    if name not in COLLECTIVES:
        raise UnsupportedError(f"no collective {name!r}; there are {', '.join(COLLECTIVES)}")
    return name
