"""Recordings as JSON: what `Recording.save` writes and `Recording.load` reads, version 1.

A file is data and nothing else; it is checked field by field before a recording is made of it.
"""

from __future__ import annotations

import itertools
import math
import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from collectives.recording import Message, Recording, Stuck
from collectives.registry import COLLECTIVES
from collectives.tracing import Event, Hold

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION = 1
LARGEST_FILE = 1 << 30
"""Bytes of the largest file that is read."""

Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
Text = Annotated[
    str, msgspec.Meta(max_length=100_000, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$")
]
"""No control characters: they would reach the terminal."""
JsonHold = tuple[int, tuple[int, ...], float, float]


class _Event(msgspec.Struct):
    rank: Count
    step: Count
    kind: Literal["send", "receive", "combine"]
    call: Text
    peer: int
    tag: int
    number: int
    nbytes: Count
    start: float
    end: float | None
    file: Text
    line: Count
    holds: list[JsonHold]
    code: Text = ""


class _Stuck(msgspec.Struct):
    waiting: dict[int, Text]
    cycle: list[int]
    text: Text


class _Document(msgspec.Struct):
    format: Literal["collectives-trace"]
    version: int
    collective: Text
    algorithm: Text
    ranks: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
    elements: Count
    dtype: Text
    nbytes: Count
    root: Count
    options: dict[Text, int | float | Text | bool | None]
    where: Text
    simulated: bool
    columns: list[Text]
    pips: list[Text]
    start: list[list[JsonHold]]
    end: list[list[JsonHold]] | None
    events: list[_Event]
    stuck: _Stuck | None
    caption: Text


def as_json(recording: Recording) -> dict[str, Any]:
    """Return the document of a recording. ``frames`` and ``messages`` name events by number."""
    number = {id(event): i for i, event in enumerate(recording.events)}
    return {
        "format": "collectives-trace",
        "version": VERSION,
        "collective": recording.collective,
        "algorithm": recording.algorithm,
        "ranks": recording.ranks,
        "elements": recording.elements,
        "dtype": recording.dtype,
        "nbytes": recording.nbytes,
        "root": recording.root,
        "options": dict(recording.options),
        "where": recording.where,
        "simulated": recording.simulated,
        "columns": recording.columns,
        "pips": recording.pips,
        "start": recording.start,
        "end": recording.end,
        "events": [_event(event) for event in recording.events],
        "frames": [
            {"title": frame.title, "events": [number[id(event)] for event in frame.events]}
            for frame in recording.frames()
        ],
        "messages": [_message(message, number) for message in recording.messages()],
        "wanted": [sorted(cells.items()) for cells in recording.wanted],
        "stuck": None if recording.stuck is None else vars(recording.stuck),
        "caption": recording.caption,
    }


def _event(event: Event) -> dict[str, Any]:
    names = ("rank", "step", "kind", "call", "peer", "tag", "number", "nbytes", "start")
    return {name: getattr(event, name) for name in names} | {
        "end": _finite(event.end),
        "file": "/".join(event.file.split(os.sep)[-2:]),
        "line": event.line,
        "code": event.code,
        "holds": event.holds,
    }


def _message(message: Message, number: dict[int, int]) -> dict[str, Any]:
    return {
        "send": number[id(message.send)],
        "receive": None if message.receive is None else number[id(message.receive)],
        "start": message.start,
        "end": _finite(message.end),
    }


def _finite(time: float) -> float | None:
    return time if math.isfinite(time) else None


def dumps(recording: Recording) -> bytes:
    """Return a recording as the contents of a file."""
    return msgspec.json.encode(as_json(recording)) + b"\n"


def loads(text: bytes, name: str = "trace") -> Recording:
    """Return the recording that a file holds; ValueError says what is wrong with it."""
    if len(text) > LARGEST_FILE:
        raise ValueError(f"{name} has {len(text)} bytes, wants at most {LARGEST_FILE}")
    try:
        document = msgspec.json.decode(text, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{name} is no trace: {error}") from None
    wrong = next((text for text in _contradictions(document) if text), None)
    if wrong:
        raise ValueError(f"{name} is no trace: {wrong}")
    return _recording(document)


def _recording(document: _Document) -> Recording:
    fields = {name: getattr(document, name) for name in Recording.__dataclass_fields__}
    stuck = document.stuck
    return Recording(**fields | {
        "start": _held(document.start),
        "end": None if document.end is None else _held(document.end),
        "events": [
            Event(**{name: getattr(event, name) for name in event.__struct_fields__} | {
                "end": math.inf if event.end is None else event.end,
                "holds": tuple(Hold(*hold) for hold in event.holds),
            })
            for event in document.events
        ],
        "stuck": stuck and Stuck(stuck.waiting, stuck.cycle, stuck.text),
    })  # fmt: skip


def _held(rows: Iterable[Iterable[JsonHold]]) -> list[list[Hold]]:
    return [[Hold(*hold) for hold in row] for row in rows]


def _contradictions(document: _Document) -> Iterable[str | None]:
    """Yield what a document of the right form says that cannot be."""
    p, columns = document.ranks, len(document.columns)
    if document.version != VERSION:
        yield f"version is {document.version}, wants {VERSION}"
    if document.collective not in COLLECTIVES:
        yield f"collective is {document.collective!r}, wants one of {', '.join(COLLECTIVES)}"
    for name, rows in (("start", document.start), ("end", document.end)):
        if rows is not None and len(rows) != p:
            yield f"{name} is of {len(rows)} ranks, wants {p}"
    if len(document.pips) != p:
        yield f"pips are {len(document.pips)}, wants {p}"
    if columns not in (0, p):
        yield f"columns are {columns}, wants {p}"
    if document.root >= p:
        yield f"root is {document.root}, wants 0..{p - 1}"
    for i, event in enumerate(document.events):
        if event.rank >= p or not -1 <= event.peer < p:
            yield f"event {i} is of rank {event.rank} and peer {event.peer}, wants 0..{p - 1}"
        if not math.isfinite(event.start) or (event.end is not None and event.end < event.start):
            yield f"event {i} is from {event.start} to {event.end}"
    held = [
        *document.start,
        *(document.end or []),
        *(event.holds for event in document.events),
    ]
    for column, pips, at, share in itertools.chain.from_iterable(held):
        if not 0 <= column < columns or any(not -1 <= pip < p for pip in pips):
            yield f"a block {column} of ranks {pips}, wants 0..{columns - 1} and 0..{p - 1}"
        if not (0 <= at <= 1 and 0 <= share <= 1):
            yield f"a part of a block from {at} on, {share} of it, wants 0 to 1"
    if document.stuck and not {*document.stuck.cycle, *document.stuck.waiting} <= {*range(p)}:
        yield f"stuck names ranks that are not in 0..{p - 1}"
