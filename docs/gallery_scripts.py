"""Write the scripts of the gallery that show every algorithm of a collective, from the registry."""

import importlib
import inspect
import textwrap
from pathlib import Path

from collectives.recorder import record
from collectives.registry import COLLECTIVES, UnsupportedError, algorithms

HEADER = """\
Every algorithm
---------------

A page per collective: who is in which block after every step, and when messages travel. All runs
are simulated.
"""

SCRIPT = '''\
"""
{collective}
{line}

{meaning}

Every algorithm that is written out step by step, on 6 ranks; on 4 where it needs a power of two. A
message takes 1 us and 20 ns per byte, a combination 4 ns per byte: with vectors as short as these,
both the number of messages and their size can be seen. Times are simulated.
:doc:`/collectives/{collective}` compares the algorithms.
"""

from collectives import find
from collectives.draw.figures import {figures}
from collectives.recorder import record
from collectives.sim import Hockney

network = Hockney(alpha=1e-6, beta=2e-8, gamma=4e-9)
'''

ALGORITHM = """
# %%
# {name}
# {line}
#
{summary}
# :func:`{function} <{path}>`

run = record(find("{collective}", "{name}"), {call}, network=network)
{first}(run)
"""

OVER_TIME = """
# %%
# The same over time:

spacetime(run)
"""


def write_scripts(folder: Path) -> None:
    """Write a script per collective and the head of the section, touching what has changed only."""
    folder.mkdir(exist_ok=True)
    texts = {"GALLERY_HEADER.rst": HEADER}
    texts |= {f"{collective}.py": script(collective) for collective in COLLECTIVES}
    for name, text in texts.items():
        write(folder / name, text)


def write(file: Path, text: str) -> None:
    """Write a file unless it holds this text already: what has not changed is not built again."""
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def script(collective: str) -> str:
    """Return the script that draws every algorithm of a collective which is written out."""
    entries = [entry for entry in algorithms(collective) if entry.kind == "step by step"]
    package = inspect.getmodule(inspect.unwrap(entries[0].function)).__name__.rpartition(".")[0]
    blocks = collective != "barrier"  # there are no blocks to look into
    text = SCRIPT.format(
        collective=collective,
        line="=" * len(collective),
        meaning=inspect.getdoc(importlib.import_module(package)).partition("\n")[0],
        figures="contribution_grid, spacetime" if blocks else "spacetime",
    )
    for entry in entries:
        text += ALGORITHM.format(
            collective=collective,
            name=entry.name,
            line="-" * len(entry.name),
            summary=textwrap.fill(entry.summary, 98, initial_indent="# ", subsequent_indent="# "),
            function=entry.function.__name__,
            path=f"{package}.{entry.name}.{entry.function.__name__}",
            call=call(entry),
            first="contribution_grid" if blocks else "spacetime",
        )
        if blocks:
            text += OVER_TIME
    return text


def call(entry) -> str:
    """Return ranks and options of a run that shows an algorithm: two nodes, a few segments."""
    p = next(p for p in (6, 4) if messages(entry, p))
    known = inspect.signature(entry.function).parameters
    options = {"per_node": p // 2} if "per_node" in known else {}
    if "segment" in known:
        whole = messages(entry, p, **options)
        for size in (6, 24):  # the longest that cuts anything at all
            if messages(entry, p, **options | {"segment": size}) > whole:
                options["segment"] = size
    return ", ".join([str(p), *(f"{name}={value}" for name, value in options.items())])


def messages(entry, p: int, **options: int) -> int:
    """Return how many messages a run has; 0 where the algorithm refuses it."""
    try:
        return len(record(entry, p, **options).messages())
    except UnsupportedError:
        return 0
