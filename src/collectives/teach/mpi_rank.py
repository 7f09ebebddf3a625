"""A rank of a submission under mpirun: the same calls on a real library, watched.

The job's folder holds the submission, the cases and their inputs; rank 0 writes into it what came
of each. The grader reads that as plain bytes and judges by itself.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from collectives.comm import Array
from collectives.launch import abort_on_error
from collectives.oracle.cases import Buffers, Case
from collectives.oracle.worlds import EAGER, RENDEZVOUS, Ending
from collectives.teach.attempt import PATTERN, functions_of
from collectives.teach.limits import limit, lock_in
from collectives.teach.rank import case_of

MEMORY = 8 << 30
"""Bytes of address space: MPI libraries map much that they hardly use."""


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
        arrays = [[each[str(rank)] for rank in range(len(each))] for each in inputs]
        _run(folder, plan, source, arrays)


def _run(folder: Path, plan: dict[str, Any], source: str, inputs: list[list[Array]]) -> None:
    from collectives.oracle.mpi_world import OnMpi

    world = OnMpi(patience=plan["patience"])
    is_first = world.world.rank == 0

    def tell(story: Ending) -> None:
        _write(folder / "hang.json", {"kind": story.kind, "text": story.text})

    world.on_hang = tell
    limit(memory=MEMORY)
    writable = [str(folder), "/dev/null", *(["/dev/shm"] if os.path.isdir("/dev/shm") else [])]
    lock_in(writable, mpi=True)
    functions = functions_of(source)
    for number, (words, arrays) in enumerate(zip(plan["cases"], inputs, strict=True)):
        if is_first:
            _write(folder / "now.json", {"case": number, "library": world.name})
        case = case_of(words["case"])
        program = partial(called, functions[words["function"]], case, arrays)
        network = RENDEZVOUS if words["synchronous"] else EAGER
        outcome = world.run(program, case.p, network=network)
        if is_first:
            for rank, result in enumerate(outcome.results):
                if result is not None:
                    (folder / f"result-{number}-{rank}").write_bytes(result)
            story = outcome.ending
            said = None if story is None else {"kind": story.kind, "text": story.text}
            _write(folder / f"outcome-{number}.json", {"ending": said})
        if outcome.ending is not None:
            break


def called(function: Any, case: Case, inputs: Sequence[Array], comm: Any) -> bytes:
    """Make the call of one rank; return its buffers."""
    buffers = Buffers(case, comm.rank, inputs[comm.rank], PATTERN)
    buffers.run(function, comm)
    return buffers.sent.whole.tobytes() + buffers.received.whole.tobytes()


def _write(path: Path, words: dict[str, Any]) -> None:
    """Write a file that is there as a whole or not at all."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(words))
    new.replace(path)
