"""SVG in which what is drawn many times, such as the pips of a grid, is written once."""

from __future__ import annotations

import re

_PATH = re.compile(r'<path d="([^"]*)"([^>]*)/>')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


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
        numbers = [float(number) for number in _NUMBER.findall(outline)]
        if "id=" in look or len(numbers) < 4 or "transform" in look:
            return match[0]
        x, y = numbers[:2]
        moved = iter(f"{n - (x, y)[k % 2]:.3f}" for k, n in enumerate(numbers))
        key = _NUMBER.sub(lambda _: next(moved), outline), look
        if key not in first:
            first[key] = len(first), x, y
            return f'<path id="o{first[key][0]}" d="{outline}"{look}/>'
        number, x0, y0 = first[key]
        return f'<use xlink:href="#o{number}" x="{x - x0:.5g}" y="{y - y0:.5g}"/>'

    return _PATH.sub(shortened, svg)
