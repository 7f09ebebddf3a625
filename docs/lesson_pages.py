"""Write the pages of the course: the syllabus, and every lesson with what a run of it shows."""

import ast
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from gallery_pictures import FIGURE, literally
from gallery_scripts import write

HERE = Path(__file__).parent
LESSONS = HERE.parent / "lessons"
READMES = {LESSONS / "README.md": "index.md", LESSONS / "exercises" / "README.md": "exercises.md"}
PLAYERS = HERE / "_static" / "lessons"

PAGE = """\
:html_theme.sidebar_secondary.remove: true

{title}
{line}

{about}

    {question}

.. code-block:: text

    {commands}
{figures}
.. raw:: html

    <p><a href="../_static/lessons/{name}.html">Step through the run</a></p>

{exercises}

What it prints
--------------

Eight simulated ranks in one process; times are simulated, and numbers of others are named as such.

.. code-block:: text

    $ python lessons/{name}.py --svg {name}.svg --html {name}.html
{output}

The code
--------

.. literalinclude:: ../../lessons/{name}.py
    :language: python
"""

WIDE = """\
---
html_theme.sidebar_secondary.remove: true
---

"""

CONTENTS = """
```{{toctree}}
:hidden:

{names}
```
"""


def write_lessons(folder: Path, again: bool = True) -> None:
    """Write a page per lesson and the syllabus before them; run them all, or what is missing."""
    folder.mkdir(exist_ok=True)
    PLAYERS.mkdir(exist_ok=True)
    syllabus = (LESSONS / "README.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| \[`(\w+)`\]", syllabus, re.MULTILINE)
    exercises = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", syllabus, re.MULTILINE))
    wanted = [name for name in names if again or not (folder / f"{name}.rst").exists()]
    with ThreadPoolExecutor(os.cpu_count()) as several:
        pages = several.map(lambda name: page(name, folder, exercises.get(name, "")), wanted)
        for name, text in zip(wanted, pages, strict=True):
            write(folder / f"{name}.rst", text)
    contents = CONTENTS.format(names="\n".join([*names, "exercises"]))
    for file, name in READMES.items():
        text = WIDE + linked(file.read_text(encoding="utf-8"), file.parent)
        write(folder / name, text + contents * (name == "index.md"))


def linked(text: str, folder: Path) -> str:
    """Return the text of a README in `folder` with its links as they are from pages of lessons.

    Examples
    --------
    >>> linked("[a](zero.py), [b](exercises/README.md), [c](../docs/model.md)", LESSONS)
    '[a](zero.rst), [b](exercises.md), [c](../model.md)'
    >>> linked("[a](zero1.py), [b](../README.md)", LESSONS / "exercises")
    '[a](../../lessons/exercises/zero1.py), [b](index.md)'
    """

    def link(match: re.Match[str]) -> str:
        file = Path(os.path.normpath(folder / match[1]))
        if file in READMES:
            return f"]({READMES[file]})"
        if file.parent == LESSONS:
            return f"]({file.stem}.rst)"
        start = HERE if file.is_relative_to(HERE) else HERE.parent
        up = "../" if start == HERE else "../../"
        return f"]({up}{file.relative_to(start).as_posix()})"

    return re.sub(r"\]\(([^)#:]+)\)", link, text)


def page(name: str, folder: Path, exercises: str) -> str:
    """Run a lesson and return its page; its figures go into `folder`, its player to `PLAYERS`."""
    source = ast.parse((LESSONS / f"{name}.py").read_text(encoding="utf-8"))
    first, _, commands = ast.get_docstring(source).partition("\n\n")
    title, _, about = first.partition(": ")
    with TemporaryDirectory() as scratch:
        output = run(name, Path(scratch))
        words = json.loads(Path(scratch, f"{name}.json").read_text(encoding="utf-8"))
        for theme in ("light", "dark"):
            drawn = f"{name}_{theme}.svg"
            write(folder / drawn, Path(scratch, drawn).read_text(encoding="utf-8"))
        write(PLAYERS / f"{name}.html", Path(scratch, f"{name}.html").read_text(encoding="utf-8"))
    return PAGE.format(
        name=name,
        title=title,
        line="=" * len(title),
        about=literally(about[0].upper() + about[1:]),
        question=literally(question(source)),
        commands=commands.replace("\n", "\n    "),
        figures="".join(
            FIGURE.format(
                path=f"{folder.name}/{name}_{theme}.svg",
                alt=" ".join(words["alt"].split()),
                caption=literally(words["caption"]),
                theme=theme,
            )
            for theme in ("light", "dark")
        ),
        exercises=f":doc:`Exercises <exercises>` after it: {exercises.replace('`', '``')}."
        if exercises
        else "",
        output="\n".join(f"    {line}".rstrip() for line in output.splitlines()),
    )


def run(name: str, folder: Path) -> str:
    """Run a lesson in a folder and return what it prints."""
    done = subprocess.run(
        [sys.executable, HERE / "lesson_run.py", LESSONS / f"{name}.py"],
        cwd=folder, env=os.environ | {"NO_COLOR": "1"}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"lesson {name} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def question(source: ast.Module) -> str:
    """Return the question of a lesson."""
    (value,) = (
        node.value
        for node in source.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "QUESTION"
    )
    return ast.literal_eval(value)
