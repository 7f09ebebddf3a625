"""Calls that must be refused: buffers of a wrong kind or size, roots and counts out of range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from collectives.comm import IN_PLACE
from collectives.op import BAND
from collectives.oracle.cases import Case


def wrong_calls(case: Case, rank: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what `rank` must refuse: what is wrong with it, and the arguments."""
    sendbuf = np.arange(1.0, case.input_size(rank) + 1)
    recvbuf = -np.arange(1.0, case.room(rank) + 1)  # not 0: that it is cleared must show
    good = case.buffers(rank, sendbuf, recvbuf) | case.options(rank)
    wrong = [*_wrong_buffers(case, rank, good), *_wrong_numbers(case, rank, good)]
    yield from ((what, good | arguments) for what, arguments in wrong)


def _wrong_buffers(
    case: Case, rank: int, good: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    used = {name: array for name, array in good.items() if isinstance(array, np.ndarray)}
    if case.form.from_root and rank != case.root:
        used.pop("sendbuf", None)
    if case.form.to_root and rank != case.root:
        used.pop("recvbuf")
        yield "sendbuf=IN_PLACE without a result", {"sendbuf": IN_PLACE}
    for name, array in used.items():
        yield f"{name} a list", {name: array.tolist()}
        yield f"{name} not contiguous", {name: np.zeros((array.size, 2))[:, 0]}
        if len(used) > 1:
            yield f"{name} one element longer", {name: np.zeros(array.size + 1)}
            yield f"{name} of another dtype", {name: array.astype(np.float32)}
        if name == "recvbuf" or (name == "buf" and rank != case.root):
            frozen = array.copy()
            frozen.flags.writeable = False
            yield f"{name} read-only", {name: frozen}
    if len(used) > 1:
        last = used["sendbuf"].size - 1
        shared = np.zeros(last + used["recvbuf"].size)
        overlapping = {"sendbuf": shared[: last + 1], "recvbuf": shared[last:]}
        yield "sendbuf and recvbuf overlapping", overlapping


def _wrong_numbers(
    case: Case, rank: int, good: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    if case.rooted:
        yield from ((f"root={root}", {"root": root}) for root in (-1, case.p, 0.0))
    if case.reduces:
        yield "op='SUM'", {"op": "SUM"}
        yield "op=BAND on float64", {"op": BAND}
    for name, sizes in case.sizes(rank).items():
        if name == "sendcounts" and good["sendbuf"] is IN_PLACE:
            continue  # ignored then
        longer = [size + (i == rank) for i, size in enumerate(sizes)]
        yield f"{name} one element too many", {name: longer}
        yield f"{name} of one rank more", {name: [*sizes, 0]}
        negative = [-1, sum(sizes) + 1, *[0] * (case.p - 2)][: case.p]
        yield f"a negative count in {name}", {name: negative}
