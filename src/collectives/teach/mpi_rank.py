"""A rank of a submission under mpirun: the same calls on a real library, watched.

The job's folder holds the submission, the cases and their inputs; rank 0 writes into it what came
of each. The grader reads that as plain bytes and judges by itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from collectives.comm import Array
from collectives.launch import abort_on_error
from collectives.oracle.buffers import Buffers
from collectives.oracle.worlds import EAGER, RENDEZVOUS, Ending
from collectives.teach.attempt import PATTERN, functions_of
from collectives.teach.limits import limit, lock_in
from collectives.teach.mpi_launch import MEMORY, writable
from collectives.teach.rank import case_of
from collectives.teach.scene import plain

DATA = 1 << 30
"""Bytes that a submission may take besides what the MPI library has."""


def main() -> None:
    """Run all cases of the folder that is the first argument."""
    with abort_on_error():
        folder = Path(sys.argv[1])
        plan = json.loads((folder / "plan.json").read_text())
        source = (folder / "submission").read_text()
        inputs = [
            np.load(folder / f"input-{number}.npz", allow_pickle=False)
            for number in range(len(plan["cases"]))
        ]
        arrays = [
            [_given(each, rank) for rank in range(words["p"])]
            for each, words in zip(inputs, plan["cases"], strict=True)
        ]
        _run(folder, plan, source, arrays)


def _given(inputs: Any, rank: int) -> list[Array]:
    """Return the arrays of one rank."""
    mine = [name for name in inputs if name.startswith(f"{rank}-")]
    return [inputs[f"{rank}-{number}"] for number in range(len(mine))]


def _run(folder: Path, plan: dict[str, Any], source: str, inputs: list[list[list[Array]]]) -> None:
    from collectives.oracle.mpi_world import OnMpi

    world = OnMpi(patience=plan["patience"])
    is_first = world.world.rank == 0

    def tell(story: Ending) -> None:
        _write(folder / "hang.json", {"kind": story.kind, "text": story.text})

    world.on_hang = tell
    if is_first:
        _write(folder / "now.json", {"library": world.name})
    limit(memory=MEMORY, data=DATA)
    lock_in(writable(str(folder)), mpi=True)
    functions = functions_of(source)
    for number, (words, arrays) in enumerate(zip(plan["cases"], inputs, strict=True)):
        program = partial(called, functions[words["function"]], words, arrays)
        network = RENDEZVOUS if words["synchronous"] else EAGER
        outcome = world.run(program, words["p"], network=network)
        if is_first:
            for rank, result in enumerate(outcome.results):
                if result is not None:
                    (folder / f"result-{number}-{rank}").write_bytes(result)
            story = outcome.ending
            said = None if story is None else {"kind": story.kind, "text": story.text}
            _write(folder / f"outcome-{number}.json", {"ending": said})
        if outcome.ending is not None:
            break


def called(
    function: Any, words: dict[str, Any], inputs: Sequence[Sequence[Array]], comm: Any
) -> bytes:
    """Make the call of one rank; return its buffers, or what it gives."""
    if "case" not in words:
        value = function(comm, *inputs[comm.rank], *words["words"])
        return json.dumps(plain(value)).encode()
    buffers = Buffers(case_of(words["case"]), comm.rank, inputs[comm.rank][0], PATTERN)
    buffers.run(function, comm)
    return buffers.sent.whole.tobytes() + buffers.received.whole.tobytes()


def _write(path: Path, words: dict[str, Any]) -> None:
    """Write a file that is there as a whole or not at all."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(words))
    new.replace(path)
