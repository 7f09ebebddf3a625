"""The command line: list the algorithms, show one, run one and check it.

Exit codes: 0 if all held, 1 if a fault was found, 2 if the request could not be carried out. Every
command stands in the module of its name.
"""

from __future__ import annotations

import sys

import typer

from collectives.launch import launch_rank

app = typer.Typer(
    help=__doc__.rpartition(" Every")[0],
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

COLLECTIVE_COMMANDS = ("run", "bench", "trace", "check", "fingerprint", "gpu")
"""What all ranks of an MPI job do together; the other commands are for rank 0 alone."""


def main() -> None:
    """Run the command line; what the user got wrong is one sentence and exit code 2."""
    if launch_rank() != 0 and sys.argv[1:2] not in [[name] for name in COLLECTIVE_COMMANDS]:
        return  # under mpirun, say it once
    try:
        app()
    except (ValueError, OSError) as error:  # OSError: a file that cannot be read or written
        fail(str(error))


def fail(message: str) -> None:
    """Say once why the request could not be carried out, and end with exit code 2."""
    if launch_rank() == 0:
        print(f"collectives: {message}", file=sys.stderr)
    sys.exit(2)


from collectives.cli import (  # noqa: E402, F401  its commands
    bench,
    catalogue,
    check,
    fingerprint,
    gpu,
    grade,
    run,
    simulate,
    trace,
    vectors,
)
