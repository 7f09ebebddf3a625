"""Right in simulation, wrong on the MPI library: nothing is run again to explain it."""

from __future__ import annotations

from collectives.teach.diagnosis import mistake, waiting_line
from collectives.teach.evidence import Evidence


@mistake(
    "differs-on-mpi", "right in simulation, not on the MPI library",
    what="on real MPI: {text}",
    why="the simulated run was right; look for what depends on timing or on the machine",
    hint="does anything depend on who comes first?", look=waiting_line,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind.startswith("mpi")
