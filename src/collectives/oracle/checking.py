"""Check a target: every promise of every collective, with a verdict that all ranks share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from collectives.oracle.examining import Examination, Progress
from collectives.oracle.promises import Subject
from collectives.oracle.report import Fault, Report
from collectives.oracle.request import Asked
from collectives.oracle.targets import OfPython, Target, functions, registered
from collectives.oracle.worlds import SIMULATED, World
from collectives.registry import Algorithm, known_collective

WITH_BIG: Final = 120.0
"""Seconds of patience, at least, for vectors of gigabytes, which take so long."""


def check(
    target: Target | Algorithm | Callable[..., None] | str,
    collective: str,
    *,
    world: World | None = None,
    ranks: Sequence[int] | None = None,
    only: Collection[str] = (),
    skip: Collection[str] = (),
    quick: bool = False,
    big: bool = False,
    case: str = "",
    progress: Progress | None = None,
    patience: float = 10.0,
    on_hang: Callable[[Report], None] | None = None,
    before: Callable[[Fault], None] | None = None,
) -> Report:
    """Check whether a target keeps what a collective promises.

    Parameters
    ----------
    target : Target, Algorithm, callable or str
        What is checked: a function with the signature of the collective, see
        `collectives.arguments`; a registered algorithm or its name; ``ALL`` for all of them.
    collective : str
        Such as ``allreduce``, or ``ALL``.
    world : World, optional
        Where it runs; under mpirun the ranks of the job, else simulated ranks.
    ranks : sequence of int, optional
        The numbers of ranks.
    only, skip : collection of str
        Names of promises, see `collectives.oracle.properties.PROPERTIES`.
    quick, big : bool
        Fewer cases; or sizes that need gigabytes, too.
    case : str
        The only case, as faults name it.
    progress : callable, optional
        Called as ``progress(target, property, done, total)``.
    patience : float
        Seconds without any progress after which ranks are taken to hang.
    on_hang : callable, optional
        Given the report so far before the job is ended, on the one rank that tells it; it is
        printed where this is not given.
    before : callable, optional
        Given, ahead of every case, the fault that it is if this process does not survive the case.

    Returns
    -------
    Report
        The same on all ranks.

    Examples
    --------
    Somebody's all-reduce, which forgets the last element where the vector cannot be halved:

    >>> import numpy as np
    >>> def mine(comm, sendbuf, recvbuf, op):
    ...     recvbuf[:] = sendbuf
    ...     usable = sendbuf.size // 2 * 2
    ...     for step in range(1, comm.size):
    ...         other = np.empty_like(sendbuf)
    ...         dest, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
    ...         comm.Sendrecv(sendbuf, dest=dest, recvbuf=other, source=source)
    ...         op(recvbuf[:usable], other[:usable], out=recvbuf[:usable])
    >>> report = check(mine, "allreduce", ranks=[2, 3], only=["right_values"])
    >>> report.exit_code
    1
    >>> fault = report.faults[0]
    >>> fault.case, fault.rank, fault.element, fault.family
    ('p=2 n=1', 0, 0, 'F3 boundary')
    """
    chosen = _target(target, collective)
    judged = getattr(chosen, "report", None)
    if judged is not None:  # its ranks have run already
        return judged(collective, only=only, skip=skip, ranks=ranks or (), case=case)  # type: ignore[no-any-return]
    asked = Asked(tuple(ranks or ()), only, skip, quick, big, case)
    subjects = chosen.subjects(collective)
    world = world or chosen.world(max(patience, WITH_BIG) if big else patience)
    if world is SIMULATED:
        subjects = [x for x in subjects if not x.is_builtin]
        SIMULATED.patience = patience
    if not subjects:
        raise ValueError(f"{world.name}: there is nothing of {chosen.name} to check there")
    asked.sizes(world)
    world.big = big
    run = Examination(chosen, world, asked, progress, before, Report(chosen.name, world.name, ()))
    if hasattr(world, "on_hang"):
        tell = on_hang or (lambda report: print(report.text(), flush=True))
        world.on_hang = lambda story: tell(run.hung(story))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of targets that overflow on NaN and such
        for subject in subjects:
            run.check(subject)
    return run.report


def _target(target: Any, collective: str) -> Target:
    if collective != "ALL":
        known_collective(collective)
    if isinstance(target, str):
        return functions(collective, target)
    if isinstance(target, Algorithm):
        return OfPython(str(target), (registered(target),))
    if hasattr(target, "subjects"):
        return target  # type: ignore[no-any-return]
    name = getattr(target, "__name__", type(target).__name__)
    return OfPython(name, (Subject(collective, name, target),))
