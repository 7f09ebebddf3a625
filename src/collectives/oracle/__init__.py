"""How results are judged: promises that are checked wherever ranks can run.

`check` checks a target and returns a `Report`; ``collectives check`` is the same on the command
line. It is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collectives.oracle.checking import check
    from collectives.oracle.report import Report

__all__ = ["Report", "check"]


def __getattr__(name: str) -> Any:
    if name == "check":
        from collectives.oracle.checking import check

        return check
    if name == "Report":
        from collectives.oracle.report import Report

        return Report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
