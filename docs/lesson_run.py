"""Run one lesson as a reader runs it, and keep its figure as pages show it.

python docs/lesson_run.py LESSON

Writes into the current folder the page to step through, NAME_light.svg and NAME_dark.svg in place
of the figure, and its caption and description as NAME.json. Prints what the lesson prints, and ends
as it does.
"""

import json
import runpy
import sys
from pathlib import Path

import gallery_pictures

from collectives.draw.figures import DARK, LIGHT, Picture, zero
from collectives.teach import message_figure

DRAW_TOO = (message_figure, "message_figure"), (zero, "counted_bars")
"""What draws figures of lessons without being in `collectives.draw.figures`."""


def run(lesson: Path) -> int:
    """Run a lesson with ``--svg`` and ``--html``, and return its exit code."""
    name = lesson.stem
    gallery_pictures.remember(None, None)
    for module, draw in DRAW_TOO:
        setattr(module, draw, gallery_pictures.remembering(getattr(module, draw)))
    Picture.save = lambda picture, path: None  # it is saved below, in two colours
    sys.argv = [str(lesson), "--svg", f"{name}.svg", "--html", f"{name}.html"]
    try:
        runpy.run_path(str(lesson), run_name="__main__")
    except SystemExit as end:
        if end.code:
            return end.code
    picture = gallery_pictures.drawn[-1]
    for theme in (LIGHT, DARK):
        Path(f"{name}_{theme.name}.svg").write_text(picture.svg(theme), encoding="utf-8")
    words = {"alt": picture.alt, "caption": picture.caption}
    Path(f"{name}.json").write_text(json.dumps(words), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1])))
