"""Which kind of fault is behind what was found: a suspicion, from where it shows and where not.

The families are those of `FAMILIES`. `suspected` decides by rules in the order of their strength:
what is confined to some kind of case first, then what ended the runs, then who was counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from collectives.dtypes import finfo
from collectives.op import SUM
from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding
from collectives.oracle.grids import LONG
from collectives.oracle.trials import dtype_of

FAMILIES: Final = {
    "F1": "contribution: a rank is left out, or counted twice",
    "F2": "placement: the right data in the wrong place",
    "F3": "boundary: remainders, short vectors, odd numbers of ranks",
    "F4": "buffer contract: reads or writes what it must not",
    "F5": "datatype: right for some types of number only",
    "F6": "operation: right for some operations, or orders of operands, only",
    "F7": "floating point: bits, special values, rounding",
    "F8": "width: sizes or positions wrap",
    "F9": "matching: a message too many, too few, or to the wrong place",
    "F10": "deadlock: hangs, or would without buffering",
    "F11": "synchrony: does not wait for others, or for its own requests",
    "F12": "communicator: takes the numbers of other ranks",
    "F13": "arguments: takes what must be refused",
}
"""What can be wrong, and by which name reports call it."""


@dataclass
class Evidence:
    """What one property found: where it is broken, and on which cases it held."""

    broken: list[Finding] = field(default_factory=list)
    held: list[Case] = field(default_factory=list)


def family(name: str) -> str:
    """Return name and first word of a family, such as ``F1 contribution``."""
    return f"{name} {FAMILIES[name].partition(':')[0]}"


TELLING: Final[dict[str, tuple[str, ...]]] = {
    "F4": (
        "input_unchanged", "writes_only_result", "reads_only_input", "ignored_arguments_ignored",
        "works_in_place",
    ),
    "F7": (
        "same_on_all_ranks", "same_when_repeated", "float_error_bounded", "special_values",
    ),
    "F9": ("right_values", "survives_skew", "survives_foreign_traffic"),
    "F10": ("finishes_without_buffering",),
    "F11": ("right_values", "survives_skew"),
    "F12": ("any_communicator",),
}  # fmt: skip
"""Which promises say most about a fault of a family, where they are broken."""


def suspected(evidence: Mapping[str, Evidence]) -> str:
    """Return the name of the family that the evidence points at; empty where nothing is broken,
    or where it only says that the target raises.
    """
    broken = {name: found.broken for name, found in evidence.items() if found.broken}
    if not broken:
        return ""
    if any(finding.kind == "hung" for findings in broken.values() for finding in findings):
        return "F10"
    main = [x for name in _MAIN for x in broken.get(name, ())]
    if any(finding.kind == "anyone" for findings in broken.values() for finding in findings):
        return "F9"
    if not main:
        return _around(broken)
    held = [case for name in _MAIN if name in evidence for case in evidence[name].held]
    confined = _confined(main, held, broken)
    return confined or _by_kind(main, broken)


_MAIN: Final = ("right_values", "every_rank_counted_once", "one_rank_ok", "zero_length_ok")
"""Whether the result of a plain call is right."""


def _around(broken: Mapping[str, Sequence[Finding]]) -> str:
    """Decide where every plain call is right."""
    kinds = {finding.kind for findings in broken.values() for finding in findings}
    rules = [
        ("F9", {"left over", "unwaited", "mismatched"} & kinds),
        ("F10", "finishes_without_buffering" in broken),
        ("F4", {"input", "outside", "leftover", "ignored"} & kinds),
        ("F4", kinds == {"died"} and "input_unchanged" in broken),  # written to, yet read-only
        ("F4", "works_in_place" in broken),
        ("F12", "any_communicator" in broken),
        ("F11", "survives_skew" in broken),
        ("F7", {"bits", "repeat", "special", "bound"} & kinds),
        ("F6", "order" in kinds or _is_wrong_composed(broken)),
        ("F9", {"foreign", "messages"} & kinds),
        ("F8", "big_counts" in broken),
        ("F13", "accepted" in kinds),
    ]
    return next((name for name, holds in rules if holds), "")


def _is_wrong_composed(broken: Mapping[str, Sequence[Finding]]) -> bool:
    """Tell whether an operation of the caller's is taken, and its result is wrong."""
    return any(x.kind in ("value", "place") for x in broken.get("refuses_what_it_cannot_do", ()))


# ------------------------------------------------------------------ what it is confined to


def _confined(
    main: Sequence[Finding], held: Sequence[Case], broken: Mapping[str, Sequence[Finding]]
) -> str:
    """Return the family of what shows in some kind of case only; empty where that is none."""
    cases = [finding.case for finding in main]
    plain = [case for case in held if case.op is SUM and not case.dtype and case.p > 1]
    if {"outside"} & {x.kind for x in broken.get("writes_only_result", ())}:
        return "F4"
    if plain and all(case.op is not SUM for case in cases) and not _is_of_types(cases, held):
        return "F6"
    if plain and all(case.dtype for case in cases):
        if _float_faults(broken) and all(dtype_of(case).kind in "iub" for case in cases):
            return "F7"
        return "F7" if all(map(_is_near, main)) else "F5"
    if _was_float(main) and any(dtype_of(case).kind == "f" for case in held):
        return "F7"
    ours = [case for case in cases if case.op is SUM and not case.dtype]
    plainly = [x for x in main if x.case.op is SUM and not x.case.dtype]
    edges = _EDGES if _is_boundary(plainly) else _EDGES_OF_DATA
    if ours and any(_is_only(edge, ours, plain) for edge in edges):
        return "F3"
    if edges is _EDGES and len({case.p for case in ours}) == 1 and len({x.p for x in plain}) > 3:
        return "F3"  # one number of ranks alone
    if ours and all(case.chosen for case in ours) and any(not case.chosen for case in plain):
        return "F3"  # where segments end
    if ours and all(case.root for case in ours) and any(not c.root for c in plain if c.rooted):
        return "F2"
    return ""


def _is_of_types(broken: Sequence[Case], held: Sequence[Case]) -> bool:
    """Tell whether several operations are wrong, and right for other types of number."""
    wrong = {(case.op, case.dtype) for case in broken}
    right = {case.op for case in held if case.dtype not in {dtype for _, dtype in wrong}}
    return len({op for op, _ in wrong}) > 1 and all(op in right for op, _ in wrong)


def _is_boundary(main: Sequence[Finding]) -> bool:
    """Tell whether it may be the number of ranks that matters.

    If ranks hang, or blocks are exchanged, that the number of ranks hides it says little: of two
    ranks, the left neighbour is the right one.
    """
    hangs = all(finding.kind in ("deadlock", "mismatched") for finding in main)
    moved = sum(finding.kind == "place" for finding in main) * 2 > len(main)
    return not hangs and not (moved and any(finding.case.p > 2 for finding in main))


def _float_faults(broken: Mapping[str, Sequence[Finding]]) -> bool:
    kinds = {x.kind for findings in broken.values() for x in findings}
    return bool({"bits", "special", "bound"} & kinds)


def _is_near(finding: Finding) -> bool:
    """Tell whether a number is nearly right, as if it had been of a shorter type in between."""
    if finding.kind != "value":
        return False
    dtype = dtype_of(finding.case)
    try:
        if dtype.kind in "iu":
            got, wanted = int(finding.got), int(finding.wanted)
            near = abs(wanted) > 2**24 and abs(got - wanted) < abs(wanted) / 2**10
            return near and int(float(got)) == got
        close = max(2.0**-7, math.cbrt(finfo(dtype).eps))  # bfloat16 leaves 7 bits
        return abs(float(finding.got) - float(finding.wanted)) <= close * abs(float(finding.wanted))
    except ValueError:
        return False


def _was_float(main: Sequence[Finding]) -> bool:
    """Tell whether integers are nearly right, as if they had been floats in between."""
    integers = [x for x in main if x.kind == "value" and dtype_of(x.case).kind in "iu"]
    return sum(map(_is_near, integers)) * 10 > len(integers)  # a few may be so by chance


def _is_only(edge: Callable[[Case], bool], broken: Iterable[Case], held: Sequence[Case]) -> bool:
    """Tell whether what is broken lies at one edge, most of which is broken, and the rest held."""
    broken = list(broken)
    if not all(map(edge, broken)):
        return False
    beyond = [case for case in held if not edge(case) and _has_data(case)]
    at_edge = [case for case in held if edge(case) and _has_data(case)]
    return bool(beyond) and len(broken) * 3 >= len(at_edge)


def _has_data(case: Case) -> bool:
    return case.form.brings == "nothing" or case.n > 0 or any(case.counts or ())


def _is_uneven(case: Case) -> bool:
    if case.counts is not None:
        return len(set(case.counts)) > 1
    return not case.by_blocks and not case.form.on_grid and case.n % case.p != 0


def _is_short(case: Case) -> bool:
    return 0 in (case.counts or ()) or (not case.by_blocks and case.n < case.p)


_EDGES_OF_DATA: Final[tuple[Callable[[Case], bool], ...]] = (
    lambda case: max(case.n, *(case.counts or (0,))) >= LONG,
    _is_uneven,
    _is_short,
    lambda case: not _has_data(case),
    lambda case: not _has_data(case) or _is_uneven(case) or _is_short(case),
)

_EDGES: Final[tuple[Callable[[Case], bool], ...]] = (
    *_EDGES_OF_DATA,
    lambda case: case.p == 1,
    lambda case: case.p == 2,
    lambda case: case.p <= 2,
    lambda case: case.p.bit_count() > 1,
    lambda case: case.p % 2 == 1,
    lambda case: case.p.bit_count() > 1 or _is_uneven(case),
)
"""Where boundaries are: long vectors, blocks of different sizes or none, no data, one rank, two,
not 2^k, odd."""


# ------------------------------------------------------------------ what it is


def _by_kind(main: Sequence[Finding], broken: Mapping[str, Sequence[Finding]]) -> str:
    """Decide by what is wrong most often."""
    counted = [finding.kind for finding in broken.get("every_rank_counted_once", ())]
    kinds = [finding.kind for finding in main]
    share = {kind: kinds.count(kind) / len(kinds) for kind in kinds}
    if "changed" in share or "unwaited" in share:
        return "F11"
    if share.get("mistyped", 0) > 0.5:
        return "F5"
    if "misused" in share:
        return "F4"
    stuck = sum(share.get(kind, 0) for kind in _STUCK)
    if stuck > 0.3:
        most = max(_STUCK, key=lambda kind: share.get(kind, 0))
        return _STUCK[most]
    if "count" in counted:
        return "F1"
    if "place" in counted or "place" in share or "truncated" in share:
        return "F2"
    if any(finding.kind == "input" for finding in broken.get("input_unchanged", ())):
        return "F4"
    if any(dtype_of(x.case).kind == "f" for x in main) and _float_faults(broken):
        return "F7"
    if "raised" in share or "died" in share:
        return ""
    return "F6" if counted else "F1"


_STUCK: Final = {
    "mismatched": "F9", "left over": "F9", "starved": "F9", "starved early": "F10",
    "deadlock": "F10", "hung": "F10",
}  # fmt: skip
"""What ends a run, and what that points at."""
