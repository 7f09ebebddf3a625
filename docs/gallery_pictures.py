"""How pictures get from the scripts of the gallery onto its pages: what sphinx-gallery is told.

Every picture that a script draws is shown below the lines that drew it, in light colours on light
pages and in dark ones on dark pages; its caption is text of the page. Players and traces are files
that a script writes beside itself, named as it is.
"""

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from collectives.draw import figures
from collectives.draw.figures import DARK, LIGHT, Picture, Theme
from collectives.registry import COLLECTIVES

ORDER = (
    "contribution_grid", "spacetime", "diary", "deadlock", "trees", "butterfly", "bruck",
    "transpose", "hierarchy", "alpha_beta", "case_study", "zero", "overlap", "player", "perfetto",
    "terminal",
)  # fmt: skip
STATIC = Path(__file__).with_name("_static") / "gallery"

FIGURE = """
.. figure:: /{path}
   :alt: {alt}
   :class: only-{theme}
   :figclass: picture only-{theme}

   {caption}
"""

PLAYER = """
.. raw:: html

    <p><a href="{address}">Open the player as a page of its own</a></p>
    <iframe class="player" src="{address}" title="The player"></iframe>
"""

TRACE = """
.. raw:: html

    <p><a href="{address}" download>{name}</a></p>
"""


@dataclass(frozen=True)
class Drawn:
    """What a script has drawn: how to get it in a theme, and what it says."""

    svg: Callable[[Theme], str]
    alt: str
    caption: str


drawn: list[Drawn] = []
"""By the block that runs now."""


def remember(_conf, _name) -> None:
    """Have everything that draws note what it has drawn; called before each script."""
    drawn.clear()
    for name in figures.__all__:
        draw = getattr(figures, name)
        if inspect.isfunction(draw) and not hasattr(draw, "__wrapped__"):
            setattr(figures, name, remembering(draw))


def remembering(draw):
    """Return a function that draws the same figure, and notes it."""

    @functools.wraps(draw)
    def remembered(*args, **options):
        picture = draw(*args, **options)

        def svg(theme):
            same = picture if theme is LIGHT else draw(*args, **options, theme=theme)
            return without_caption(same)

        drawn.append(Drawn(svg, picture.alt, picture.caption))
        return picture

    return remembered


def scrape(_block, variables, conf) -> str:
    """Return the text that shows what a block has drawn and written."""
    source = Path(conf["src_dir"])
    text = ""
    for picture in drawn:
        light = Path(next(variables["image_path_iterator"])).with_suffix(".svg")
        for theme, file in (LIGHT, light), (DARK, light.with_stem(f"{light.stem}_dark")):
            file.write_text(picture.svg(theme), encoding="utf-8")
            text += FIGURE.format(
                path=file.relative_to(source).as_posix(),
                alt=" ".join(picture.alt.split()),
                caption=literally(picture.caption),
                theme=theme.name,
            )
    drawn.clear()
    script = Path(variables["src_file"])
    depth = len(Path(variables["target_file"]).relative_to(source).parent.parts)
    for ending, shown in ((".html", PLAYER), (".json", TRACE)):
        written = script.with_suffix(ending)
        if written.exists():
            STATIC.mkdir(exist_ok=True)
            written.replace(STATIC / written.name)
            address = f"{'../' * depth}_static/gallery/{written.name}"
            text += shown.format(name=written.name, address=address)
    return text


def without_caption(picture: Picture) -> str:
    """Return the SVG of a picture down to its caption."""
    figure = picture.figure
    (caption,) = [text for text in figure.texts if text.get_gid() == "caption"]
    top = caption.get_window_extent(figure.canvas.get_renderer()).y1 / figure.dpi
    caption.set_visible(False)
    height = (figure.get_figheight() - top) * 72
    svg = re.sub(r'(<svg [^>]*?height=")[^"]*(pt")', rf"\g<1>{height:g}\2", picture.svg(), count=1)
    return re.sub(r'(viewBox="0 0 [^ ]+ )[^"]*', rf"\g<1>{height:g}", svg, count=1)


def literally(text: str) -> str:
    """Return reStructuredText that shows `text` as it is."""
    return re.sub(r"([\\*`_|<>:])", r"\\\1", " ".join(text.split()))


class InOrder:
    """Sort scripts as they are to be read."""

    def __init__(self, _folder):
        self.names = (*ORDER, *COLLECTIVES)

    def __call__(self, file) -> int:
        """Return the place of a script."""
        return self.names.index(Path(file).stem)
