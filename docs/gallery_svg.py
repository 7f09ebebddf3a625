"""SVG for pages: without the caption, which the page has as text, and without repeated outlines."""

import re

from collectives.draw.figures import Picture

PATH = re.compile(r'<path d="([^"]*)"([^>]*)/>')
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def without_caption(picture: Picture) -> str:
    """Return the SVG of a picture down to its caption."""
    figure = picture.figure
    (caption,) = [text for text in figure.texts if text.get_gid() == "caption"]
    top = caption.get_window_extent(figure.canvas.get_renderer()).y1 / figure.dpi
    caption.set_visible(False)
    height = (figure.get_figheight() - top) * 72
    svg = re.sub(r'(<svg [^>]*?height=")[^"]*(pt")', rf"\g<1>{height:g}\2", picture.svg(), count=1)
    return re.sub(r'(viewBox="0 0 [^ ]+ )[^"]*', rf"\g<1>{height:g}", svg, count=1)


def lighter(svg: str) -> str:
    """Return SVG in which an outline that comes again is drawn by reference to the first one.

    Examples
    --------
    >>> lighter('<path d="M 1 2 L 3 4" fill="red"/><path d="M 5 2 L 7 4" fill="red"/>')
    '<path id="o0" d="M 1 2 L 3 4" fill="red"/><use xlink:href="#o0" x="4" y="0"/>'
    """
    first: dict[tuple[str, str], tuple[int, float, float]] = {}

    def shortened(match: re.Match[str]) -> str:
        outline, look = match.groups()
        numbers = [float(number) for number in NUMBER.findall(outline)]
        if "id=" in look or len(numbers) < 4 or "transform" in look:
            return match[0]
        x, y = numbers[:2]
        moved = iter(f"{n - (x, y)[k % 2]:.3f}" for k, n in enumerate(numbers))
        key = NUMBER.sub(lambda _: next(moved), outline), look
        if key not in first:
            first[key] = len(first), x, y
            return f'<path id="o{first[key][0]}" d="{outline}"{look}/>'
        number, x0, y0 = first[key]
        return f'<use xlink:href="#o{number}" x="{x - x0:.5g}" y="{y - y0:.5g}"/>'

    return PATH.sub(shortened, svg)
