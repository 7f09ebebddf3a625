"""The text of a submission: which line does what, as far as its syntax tells."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property


class SourceText:
    """A submission's text.

    Parameters
    ----------
    source : str
        The text.
    """

    def __init__(self, source: str) -> None:
        self.source, self.lines = source, source.splitlines()

    @cached_property
    def tree(self) -> ast.Module:
        try:
            return ast.parse(self.source)
        except SyntaxError:
            return ast.Module([], [])

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Yield the calls of methods of these names."""
        for node in ast.walk(self.tree):
            is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if is_method and node.func.attr in names:  # type: ignore[attr-defined]
                yield node  # type: ignore[misc]

    def line_with(self, *patterns: str) -> int:
        """Return the first line that one of the patterns is found in, code before comments."""
        for pattern in patterns:
            for number, text in enumerate(self.lines, 1):
                if re.search(pattern, text.partition("#")[0]):
                    return number
        return 0

    def loop_around(self, line: int) -> int:
        """Return the line of the innermost loop around a line; the line itself if there is none."""
        loops = [
            node.lineno
            for node in ast.walk(self.tree)
            if isinstance(node, ast.For | ast.While)
            and node.lineno <= line <= (node.end_lineno or 0)
        ]
        return max(loops, default=line)

    def copies(self) -> Iterator[int]:
        """Yield lines that receive into a copy: ``x.flatten()``, ``x[[1, 2]]``, ``x.copy()``."""
        positions = {"Recv": 0, "Irecv": 0, "Sendrecv": 3}
        for call in self.calls(*positions):
            assert isinstance(call.func, ast.Attribute)
            position = positions[call.func.attr]
            buffers = [k.value for k in call.keywords if k.arg in ("recvbuf", "buf")]
            buffers += call.args[position : position + 1]
            if any(_makes_copy(buffer) for buffer in buffers):
                yield call.lineno

    def rebinds(self) -> int:
        """Return the line that binds an element anew: ``x[i] = ...`` where x is a list of views."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                target = node.targets[0]
                if not isinstance(target.slice, ast.Slice) and not isinstance(
                    target.value, ast.Subscript
                ):
                    return node.lineno
        return 0


def _makes_copy(buffer: ast.expr) -> bool:
    copying = {"flatten", "copy", "astype", "ravel", "reshape", "ascontiguousarray", "take"}
    if isinstance(buffer, ast.Call) and isinstance(buffer.func, ast.Attribute):
        return buffer.func.attr in copying
    return isinstance(buffer, ast.Subscript) and isinstance(buffer.slice, ast.List)
