"""Exercises: what is asked, which solution is known, and which mistakes must be named.

An exercise is a stub, ``lessons/exercises/NAME.py``, and an entry, ``exercises/NAME.toml`` beside
this file; the keys of an entry are the fields of the classes below.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from collectives.registry import Algorithm, find


@dataclass(frozen=True)
class Part:
    """One function of an exercise.

    Attributes
    ----------
    function : str
        Its name in the submission.
    collective, solution : str
        What it does, and the registered algorithm that it is held to: its cost is the budget.
    judge : str
        For a function of numbers, without ``collective``: ``module:function``, which is given
        ``ask(*arguments)`` and yields a `Wrong` for every fault.
    options : tuple of dict
        Options with which it is called, besides what the collective has.
    counts : bool
        Whether it is given block sizes.
    order : bool
        Whether operands that do not commute must be combined in rank order.
    checks : str
        Besides values, lengths, roots and types: ``b`` bytes, ``c`` messages, ``s`` steps, ``d``
        safe without buffering.
    exact : bool
        Whether fewer messages are wrong too.
    busiest, link : str
        Formulas in p and n: what the busiest rank may send or receive, and what may go from one
        rank to another, in elements. The busiest rank of the solution, where not given.
    budget_only : bool
        Whether `solution` gives the budget only: it does not do what is particular here.
    """

    function: str
    collective: str = ""
    solution: str = ""
    judge: str = ""
    options: tuple[dict[str, Any], ...] = ({},)
    counts: bool = False
    order: bool = False
    checks: str = "cbsd"
    exact: bool = False
    busiest: str = ""
    link: str = ""
    budget_only: bool = False

    @property
    def entry(self) -> Algorithm:
        """The solution."""
        return find(self.collective, self.solution)


@dataclass(frozen=True)
class Mutant:
    """A wrong submission, and the diagnosis that it must get.

    Attributes
    ----------
    diagnosis : str
        The id.
    mistake : int
        Its number among the typical mistakes; 0 if it is not one of them.
    edit : tuple of (str, str)
        What to replace in the learner's right version by what; or
    code : str
        the whole text.
    """

    diagnosis: str
    mistake: int = 0
    edit: tuple[tuple[str, str], ...] = ()
    code: str = ""
    name: str = ""

    def source(self, right: str) -> str:
        """Return the submission; ValueError where an edit does not apply exactly once."""
        if self.code:
            return self.code
        for old, new in self.edit:
            if right.count(old) != 1:
                raise ValueError(f"{old!r} stands {right.count(old)} times in the right version")
            right = right.replace(old, new)
        return right

    @property
    def title(self) -> str:
        return self.name or self.diagnosis


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Attributes
    ----------
    name, id : str
        The file's name, and its rung, such as ``C3``.
    teaches : str
        In a few words.
    family : str
        ``ring``, ``tree`` or ``exchange``: who talks to whom.
    hints : tuple of str
        Three, from the idea to the last step.
    question, answer : str
        The prediction asked for in the stub, and what is right.
    right : str
        A right version as a learner would write it, of which mutants are edits.
    parts, mutants
        Its functions, and its typical mistakes.
    """

    name: str
    id: str
    teaches: str
    family: str
    hints: tuple[str, ...]
    question: str
    answer: str
    right: str
    parts: tuple[Part, ...]
    mutants: tuple[Mutant, ...]

    @cached_property
    def functions(self) -> tuple[str, ...]:
        return tuple(part.function for part in self.parts)


def exercise(name: str) -> Exercise:
    """Return the exercise of this name; ValueError lists what there is."""
    known = exercises()
    if name not in known:
        raise ValueError(f"no exercise {name!r}; there are {', '.join(known)}")
    return known[name]


@cache
def exercises() -> dict[str, Exercise]:
    """Return all exercises by name, in the order of their rungs."""
    folder = files("collectives.teach") / "exercises"
    found = [
        _read(entry.name.removesuffix(".toml"), tomllib.loads(entry.read_text()))
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    ]
    return {each.name: each for each in sorted(found, key=lambda e: (e.id[0], int(e.id[1:])))}


def _read(name: str, entry: dict[str, Any]) -> Exercise:
    parts = tuple(Part(**_frozen(part)) for part in entry.pop("part"))
    mutants = tuple(Mutant(**_frozen(mutant)) for mutant in entry.pop("mutant", ()))
    hints = tuple(entry.pop("hints"))
    return Exercise(name=name, hints=hints, parts=parts, mutants=mutants, **entry)


def _frozen(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table with tuples where TOML has arrays."""
    return {name: _tuple(value) for name, value in table.items()}


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value
