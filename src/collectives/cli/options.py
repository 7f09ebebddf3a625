"""Arguments that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

CollectiveName = Annotated[str, typer.Argument(help="such as allreduce")]
Ranks = Annotated[
    int | None, typer.Option("-p", "--ranks", min=1, help="simulated ranks; under mpirun, its own")
]
