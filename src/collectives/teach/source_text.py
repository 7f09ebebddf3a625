"""The text of a submission: which line does what, as far as its syntax tells."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

_LONGEST: Final = 400
"""Characters of a line that are looked at."""


def parsed(source: str) -> ast.Module:
    """Return the syntax tree of a text; an empty one where Python cannot make it."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def printable(text: str) -> str:
    """Return a text without what moves the cursor or cannot be written to a file.

    Examples
    --------
    >>> printable("wrong\\r\\x1b[2KCORRECT")
    'wrong??[2KCORRECT'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


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
        return parsed(self.source)

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
                if re.search(pattern, text[:_LONGEST].partition("#")[0]):
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
            if any(_makes_copy(buffer, self.index_lists) for buffer in buffers):
                yield call.lineno

    @cached_property
    def index_lists(self) -> set[str]:
        """The names that stand for lists of indices, or arrays of them."""
        makers = {"flatnonzero", "nonzero", "where", "arange", "array"}
        return {
            target.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign)
            and (
                isinstance(node.value, ast.List | ast.ListComp)
                or (
                    isinstance(node.value, ast.Call)
                    and isinstance(node.value.func, ast.Attribute)
                    and node.value.func.attr in makers
                )
            )
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def counted_by_hand(self) -> Iterator[int]:
        """Yield lines of calls with a message such as ``[buffer, count, MPI.BYTE]``."""
        for call in self.calls("Send", "Ssend", "Isend", "Recv", "Irecv", "Sendrecv"):
            for given in (*call.args, *(keyword.value for keyword in call.keywords)):
                if isinstance(given, ast.List | ast.Tuple) and len(given.elts) > 2:
                    yield call.lineno

    def function_at(self, line: int) -> ast.FunctionDef | None:
        """Return the innermost function that a line is in."""
        around = (f for f in self.functions if f.lineno <= line <= (f.end_lineno or 0))
        return max(around, key=lambda f: f.lineno, default=None)

    @cached_property
    def functions(self) -> list[ast.FunctionDef]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)]

    def exchanges(self, function: ast.FunctionDef | None) -> bool:
        """Tell whether a function both sends and receives."""
        nodes = () if function is None else ast.walk(function)
        called = " ".join(node.attr.lower() for node in nodes if isinstance(node, ast.Attribute))
        return "send" in called and "recv" in called

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


def _makes_copy(buffer: ast.expr, index_lists: set[str]) -> bool:
    copying = {"flatten", "copy", "astype", "ravel", "reshape", "ascontiguousarray", "take"}
    if isinstance(buffer, ast.Call) and isinstance(buffer.func, ast.Attribute):
        return buffer.func.attr in copying
    if not isinstance(buffer, ast.Subscript):
        return False
    index = buffer.slice
    return isinstance(index, ast.List) or (isinstance(index, ast.Name) and index.id in index_lists)
