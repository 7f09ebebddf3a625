"""A call as it is written on the command line."""

from __future__ import annotations

import re
from typing import Any, Final

from collectives.op import PREDEFINED, Op
from collectives.oracle.cases import Case
from collectives.oracle.payloads import AFFINE

OPS: Final = PREDEFINED | {AFFINE.name: AFFINE}

_PART = re.compile(r"(\w+)=(\([^)]*\)|\S+)|(in[ _]place)")


def parse_case(collective: str, text: str) -> Case:
    """Read a call as `str` writes it: ``p=5 n=7 op=MAX root=2 dtype=int8 in_place``.

    Examples
    --------
    >>> case = parse_case("reduce", "p=5 n=7 op=MAX root=2 dtype=int8 segment=3")
    >>> case.op, str(case)
    (Op(MAX), 'p=5 n=7 op=MAX root=2 dtype=int8 segment=3')
    >>> parse_case("allgather", "p=2 counts=0,3 in_place").counts
    (0, 3)
    """
    rest = _PART.sub("", text).strip(" ,")
    if rest:
        raise ValueError(f"case has {rest!r}, wants such as 'p=5 n=7 op=MAX root=2 in_place'")
    given: dict[str, Any] = {}
    chosen: list[tuple[str, Any]] = []
    for name, value, in_place in _PART.findall(text):
        if in_place:
            given["in_place"] = True
        elif name in ("p", "n", "root"):
            given[name] = _number(name, value)
        elif name == "counts":
            given[name] = tuple(_number(name, x) for x in re.split(r"[,\s]+", value.strip("() ,")))
        elif name == "op":
            given[name] = _operation(value)
        elif name == "dtype":
            given[name] = value
        else:
            chosen.append((name, int(value) if re.fullmatch(r"-?\d+", value) else value))
    if given.get("p", 0) < 1:
        raise ValueError(f"case is {text!r}, wants the number of ranks, such as p=5")
    case = Case(collective, given.pop("p"), **given, chosen=tuple(chosen))
    if not 0 <= case.root < case.p or (case.counts and len(case.counts) != case.p):
        raise ValueError(f"case is {text!r}: root and counts do not fit p={case.p}")
    return case


def _number(name: str, text: str) -> int:
    if not text.isdigit():
        raise ValueError(f"{name} is {text!r}, wants a number")
    return int(text)


def _operation(name: str) -> Op:
    if name not in OPS:
        raise ValueError(f"op is {name}, wants one of {', '.join(OPS)}")
    return OPS[name]
