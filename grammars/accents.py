"""An accent: the one colour that an owner chooses, and the contrast of all tokens that follow from it.

The stylesheet derives each token from `--accent` (`web/static/site.css`, layer `tokens`). `TOKENS` repeats
the formulas of the tokens that `PAIRS` needs, letter by letter (CSS Color 5); a test compares the two.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from grammars.colours import Oklch, Rgb, contrast, is_in_srgb, oklch_of, on_screen, read_colour, written


class Formulas(NamedTuple):
    """The formulas of a token in the two themes, in CSS."""

    light: str
    dark: str


TOKENS: Mapping[str, Formulas] = {
    "ground": Formulas(
        "oklch(from var(--accent) .983 min(c, .004) h)", "oklch(from var(--accent) .165 min(c, .012) h)"
    ),
    "sheet": Formulas("#fff", "oklch(from var(--accent) .205 min(c, .014) h)"),
    "sunk": Formulas(
        "oklch(from var(--accent) .962 min(c, .008) h)", "oklch(from var(--accent) .255 min(c, .018) h)"
    ),
    "edge": Formulas(
        "oklch(from var(--accent) .6 min(c, .025) h)", "oklch(from var(--accent) .56 min(c, .03) h)"
    ),
    "dim": Formulas(
        "oklch(from var(--accent) .475 min(c, .025) h)", "oklch(from var(--accent) .745 min(c, .02) h)"
    ),
    "link": Formulas(
        "oklch(from var(--accent) min(l, .47) min(c, .2) h)",
        "oklch(from var(--accent) max(l, .79) min(c, .11) h)",
    ),
    "fill": Formulas(
        "oklch(from var(--accent) min(l, .5) min(c, .21) h)",
        "oklch(from var(--accent) max(l, .76) min(c, .13) h)",
    ),
    "fill-hover": Formulas(
        "oklch(from var(--fill) calc(l - .05) c h)", "oklch(from var(--fill) calc(l + .05) c h)"
    ),
    "on-fill": Formulas("#fff", "oklch(from var(--accent) .18 min(c, .05) h)"),
    "soft": Formulas(
        "oklch(from var(--accent) .952 min(c, .028) h)", "oklch(from var(--accent) .285 min(c, .06) h)"
    ),
}
TEXT_CONTRAST, EDGE_CONTRAST = 4.5, 3.0
"""The least contrast of text, and of the edge of a control (WCAG 2.2, 1.4.3 and 1.4.11)."""


class Pair(NamedTuple):
    """A token drawn on another one, and the contrast that they need."""

    front: str
    back: str
    needed: float


PAIRS = (
    Pair("on-fill", "fill", TEXT_CONTRAST),
    Pair("on-fill", "fill-hover", TEXT_CONTRAST),
    Pair("link", "ground", TEXT_CONTRAST),
    Pair("link", "soft", TEXT_CONTRAST),
    Pair("link", "sunk", TEXT_CONTRAST),
    Pair("dim", "sunk", TEXT_CONTRAST),
    Pair("dim", "soft", TEXT_CONTRAST),
    Pair("edge", "sheet", EDGE_CONTRAST),
    Pair("fill", "sheet", EDGE_CONTRAST),
)


class Faint(NamedTuple):
    """A pair that has too little contrast in a theme."""

    pair: Pair
    theme: str
    contrast: float


_TERM = r"[a-z0-9.]+|(?:min|max)\([lc], [0-9.]+\)|calc\([lc] [+-] [0-9.]+\)"
_FORMULA = re.compile(
    rf"oklch\(from var\(--(?P<base>[a-z-]+)\) (?P<lightness>{_TERM}) (?P<chroma>{_TERM}) h\)"
)
_STEP = re.compile(r"(?P<how>min|max|calc)\([lc](?:, | (?P<sign>[+-]) )(?P<number>[0-9.]+)\)")


def colour_of(name: str, theme: str, accent: Rgb, tokens: Mapping[str, Formulas] = TOKENS) -> Rgb:
    """Return the colour of a token under an accent, as a screen shows it.

    Args:
        theme: "light" or "dark".
        tokens: the formulas by the names of their tokens.
    """
    return on_screen(_token(name, theme, accent, tokens))


def _token(name: str, theme: str, accent: Rgb, tokens: Mapping[str, Formulas]) -> Oklch:
    if name == "accent":
        return oklch_of(accent)
    formula: str = getattr(tokens[name], theme)
    parts = _FORMULA.fullmatch(formula)
    if parts is None:
        return oklch_of(read_colour(formula))
    base = _token(parts["base"], theme, accent, tokens)
    lightness = _term(parts["lightness"], base.lightness)
    return Oklch(lightness, _term(parts["chroma"], base.chroma), base.hue)


def _term(term: str, channel: float) -> float:
    """Return the value of a term of a formula. `channel` is that of the base colour."""
    if term in {"l", "c"}:
        return channel
    step = _STEP.fullmatch(term)
    if step is None:
        return float(term)
    number = float(step["number"])
    match step["how"]:
        case "min":
            return min(channel, number)
        case "max":
            return max(channel, number)
        case _:
            return channel + number if step["sign"] == "+" else channel - number


def faint_pairs(accent: Rgb, tokens: Mapping[str, Formulas] = TOKENS) -> Iterator[Faint]:
    """Yield each pair that has too little contrast under an accent."""
    for theme in Formulas._fields:
        seen = {name: colour_of(name, theme, accent, tokens) for name in {*_tokens_of_pairs()}}
        for pair in PAIRS:
            found = contrast(seen[pair.front], seen[pair.back])
            if found < pair.needed:
                yield Faint(pair, theme, found)


def _tokens_of_pairs() -> Iterator[str]:
    for pair in PAIRS:
        yield from (pair.front, pair.back)


_STEPS = 50
"""The steps of lightness and of chroma in the search for the nearest colour."""


def nearest(accent: Rgb, tokens: Mapping[str, Formulas] = TOKENS) -> Rgb | None:
    """Return the nearest accent of the same hue that gives each pair enough contrast; None if there is none.

    The distance is that of OKLab.
    """
    wanted = oklch_of(accent)
    candidates = sorted(
        (
            Oklch(lightness / _STEPS, wanted.chroma * chroma / _STEPS, wanted.hue)
            for lightness in range(_STEPS + 1)
            for chroma in range(_STEPS + 1)
        ),
        key=lambda each: math.hypot(each.lightness - wanted.lightness, each.chroma - wanted.chroma),
    )
    fitting = (on_screen(each) for each in candidates if is_in_srgb(each))
    return next((each for each in fitting if not any(faint_pairs(each, tokens))), None)


def read_accent(text: str, tokens: Mapping[str, Formulas] = TOKENS) -> str:
    """Return an accent as `#rrggbb`. Raises ValueError with the reason."""
    accent = read_colour(text)
    faint = next(faint_pairs(accent, tokens), None)
    if faint is None:
        return written(accent)
    near = nearest(accent, tokens)
    pair, found = faint.pair, math.floor(faint.contrast * 100) / 100
    raise ValueError(
        f"has too little contrast: in the {faint.theme} theme, {pair.front} on {pair.back} has {found:g}, "
        f"and needs {pair.needed:g}; "
        + (f"the nearest colour that works is {written(near)}" if near else "no colour of this hue works")
    )
