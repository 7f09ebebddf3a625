"""The index of a set of vectors: ``manifest.json``, format version 1.

``vectors.schema.json`` says the same for other languages.
"""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from collectives.op import PREDEFINED, SUM
from collectives.oracle.cases import Case
from collectives.oracle.vectors.plan import DTYPES, IN_SETS

FORMAT: Final = "collectives-vectors"
VERSION: Final = 1
LARGEST_MANIFEST: Final = 1 << 28
"""Bytes of the largest index that is read."""

SCHEMA: Final = Path(__file__).parents[1] / "vectors.schema.json"

_COMPONENT = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,150}"
PLACE: Final = f"^{_COMPONENT}(/{_COMPONENT}){{0,5}}$"
Place = Annotated[str, msgspec.Meta(pattern=PLACE)]
"""A file below the folder of the manifest; no part of it begins with a dot."""
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Size = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
Text = Annotated[str, msgspec.Meta(max_length=10_000)]
Promise = Literal[
    "right_values", "every_rank_counted_once", "zero_length_ok", "one_rank_ok", "works_in_place",
    "special_values", "float_error_bounded",
]  # fmt: skip


def said(text: str, **limits: Any) -> msgspec.Meta:
    """Return what the schema says of a field."""
    return msgspec.Meta(description=text, **limits)


class Arrays(msgspec.Struct, forbid_unknown_fields=True):
    """A .npy file with one flat array: what the ranks have, one after the other."""

    file: Place
    sha256: Digest
    starts: Annotated[list[Size], said("p + 1 positions; rank r has starts[r] to starts[r + 1]")]


class Torus(msgspec.Struct, forbid_unknown_fields=True):
    """How the ranks of a neighbourhood collective stand."""

    dims: list[Size]
    periods: list[bool]
    neighbours: Annotated[
        list[list[Size]], said("of each rank, in the order of the slots: down and up by dimension")
    ]


class Entry(msgspec.Struct, forbid_unknown_fields=True):
    """One case."""

    name: Annotated[str, said("unique; a folder", pattern=PLACE)]
    collective: Literal[IN_SETS]  # type: ignore[valid-type]
    p: Annotated[int, said("the number of ranks", ge=1, le=4096)]
    n: Annotated[
        int,
        said(
            "elements: of a block for scatter, gather, allgather, reduce_scatter, alltoall (what "
            "a rank has for one other) and the neighbourhood collectives, of the vector for the "
            "others; not used with counts",
            ge=0,
            le=1 << 40,
        ),
    ]
    counts: Annotated[
        list[Size] | None, said("sizes of the p blocks, where they are given (MPI's v-form)")
    ]
    matrix: Annotated[
        list[list[Size]] | None, said("alltoall with counts: matrix[i][j] elements go from i to j")
    ]
    op: Annotated[
        Literal[tuple(PREDEFINED)] | None,  # type: ignore[valid-type]
        said("see ops; null where nothing is reduced"),
    ]
    root: Annotated[Size | None, said("null where there is none")]
    dtype: Annotated[Literal[DTYPES], said("see dtypes")]  # type: ignore[valid-type]
    in_place: Annotated[bool, said("the input of some ranks lies in their result buffer")]
    input_at: Annotated[
        list[Size | None] | None,
        said("in place: where in its result buffer each rank's input lies; null: not in it"),
    ]
    room: Annotated[list[Size], said("elements of each rank's result buffer")]
    torus: Torus | None
    payload: Annotated[
        Literal["codes", "exact", "counters", "special", "rounding"],
        said("how the inputs were made, which the verdict uses to say what went wrong"),
    ]
    seed: Size
    part: Annotated[int, said("of the ranks, those that these counters count", ge=0, lt=4096)]
    compare: Annotated[
        Literal["exact", "bounded", "class_and_sign"], said("how results are judged; see compare")
    ]
    promise: Promise
    reveals: Annotated[str, said("what the case is there to reveal", max_length=10_000)]
    inputs: Arrays
    expected: Arrays
    outputs: Annotated[
        list[Place | None],
        said("the file that each rank's result goes to; null where a rank has none"),
    ]

    @property
    def case(self) -> Case:
        """What is asked, without the data."""
        counts = None if self.counts is None else tuple(self.counts)
        op = PREDEFINED[self.op] if self.op else SUM
        return Case(self.collective, self.p, self.n, op, self.root or 0, counts, self.in_place)


class Manifest(msgspec.Struct, forbid_unknown_fields=True):
    """The whole index."""

    format: Literal["collectives-vectors"]
    version: int
    made_by: Text
    collectives: dict[str, Text]
    ops: dict[str, Text]
    dtypes: dict[str, Text]
    compare: dict[str, Text]
    cases: list[Entry]


def schema() -> bytes:
    """Return the JSON schema of the index (draft 2020-12): the contents of `SCHEMA`."""
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return (
        msgspec.json.format(msgspec.json.encode(document | msgspec.json.schema(Manifest))) + b"\n"
    )


def loads(text: bytes) -> Manifest:
    """Return the index that a file holds; ValueError says what is wrong with it."""
    try:
        document = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
        manifest = msgspec.convert(document, Manifest)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise ValueError(f"manifest.json is no index of vectors: {error}") from None
    if manifest.version != VERSION:
        raise ValueError(f"manifest.json has version {manifest.version}, wants {VERSION}")
    names: set[str] = set()
    places: set[str] = set()
    for entry in manifest.cases:
        wrong = contradiction(entry)
        used = [entry.inputs.file, entry.expected.file, *filter(None, entry.outputs)]
        if entry.name in names or len({*used} | places) != len(used) + len(places):
            wrong = "its name or one of its files is another's too"
        if wrong:
            raise ValueError(f"manifest.json, case {entry.name}: {wrong}")
        names.add(entry.name)
        places.update(used)
    return manifest


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    twice = next((key for key in keys if keys.count(key) > 1), None) if len(keys) < 1000 else None
    if len({*keys}) != len(keys):
        raise ValueError(f"the key {twice!r} stands there twice")
    return dict(pairs)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def contradiction(entry: Entry) -> str | None:
    """Return what an entry of the right form says that cannot be."""
    p = entry.p
    if entry.counts is not None and len(entry.counts) != p:
        return f"counts are {len(entry.counts)}, wants {p}"
    if (entry.root or 0) >= p:
        return f"root is {entry.root}, wants 0..{p - 1}"
    if entry.n * p > 1 << 40 or sum(entry.counts or ()) > 1 << 40:
        return "it is too large"
    case = entry.case
    if (entry.op is None) == case.reduces or (entry.root is None) == case.rooted:
        return f"op is {entry.op} and root is {entry.root}, which {entry.collective} does not have"
    if entry.counts is not None and not case.by_blocks:
        return f"{entry.collective} has no counts"
    given = {name: getattr(entry, name) for name in ("matrix", "input_at", "room")}
    if entry.torus:
        given["torus"] = msgspec.to_builtins(entry.torus)
    for name, wanted in layout(case).items():
        if given.get(name) != wanted:
            return f"{name} is {given.get(name)}, wants {wanted}"
    for name, arrays, sizes in (
        ("inputs", entry.inputs, input_sizes(case)),
        ("expected", entry.expected, result_sizes(case)),
    ):
        starts = [*accumulate(sizes, initial=0)]
        if arrays.starts != starts:
            return f"starts of {name} are {arrays.starts}, wants {starts}"
    results = [case.result_size(rank) is not None for rank in range(p)]
    if [place is not None for place in entry.outputs] != results:
        return "outputs are not those of the ranks that have a result"
    return None


def layout(case: Case) -> dict[str, Any]:
    """Return what follows from a case and spares an implementation the arithmetic."""
    ranks = range(case.p)
    v_form = case.counts is not None and case.form.brings == "row"
    shares = [case.shares_buffer(rank) for rank in ranks]
    torus = {"neighbours": [case.neighbours(rank) for rank in ranks]} if case.form.on_grid else {}
    return {
        "matrix": [list(row) for row in case.matrix] if v_form else None,
        "input_at": [case.input_start(rank) if shares[rank] else None for rank in ranks]
        if case.in_place
        else None,
        "room": [case.room(rank) for rank in ranks],
        "torus": case.torus | torus if torus else None,
    }


def input_sizes(case: Case) -> list[int]:
    """Return how many elements each rank brings; none where only the root's are asked for."""
    return [
        case.input_size(rank) if rank == case.root or not case.form.from_root else 0
        for rank in range(case.p)
    ]


def result_sizes(case: Case) -> list[int]:
    """Return how many elements each rank is left with."""
    return [case.result_size(rank) or 0 for rank in range(case.p)]
