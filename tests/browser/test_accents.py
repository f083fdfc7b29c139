"""The tokens of an accent, as chromium computes them from the stylesheet."""

from collections.abc import Iterable
from itertools import product

import pytest
from playwright.sync_api import Browser

from grammars.accents import TOKENS, colour_of
from grammars.colours import read_colour
from tests.support.browser import THEMES
from tests.support.gateways import ROOT

PAINTED = """tokens => {
  const context = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  return tokens.map(token => {
    const shown = document.createElement("div");
    shown.style.background = `var(--${token})`;
    document.body.append(shown);
    context.fillStyle = getComputedStyle(shown).backgroundColor;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  });
}"""
ACCENTS = [
    "#3b5bdb",
    "#0b7a75",
    "#c026d3",
    "#f2b705",
    "#00ff00",
    "#ff0000",
    "#0000ff",
    "#808080",
    "#ffffff",
    "#000000",
]


@pytest.mark.parametrize("accent", ACCENTS)
def test_each_tone_is_what_a_browser_shows(browser: Browser, accent: str) -> None:
    style = (ROOT / "web/static/site.css").read_text()
    found: dict[tuple[str, str], list[int]] = {}
    for theme in THEMES:
        page = browser.new_page(color_scheme=theme)
        page.set_content(f"<style>{style}</style><style>:root {{ --accent: {accent}; }}</style><body></body>")
        found |= dict(zip(product([theme], TOKENS), page.evaluate(PAINTED, [*TOKENS]), strict=True))
        page.close()

    computed = {(theme, name): colour_of(name, theme, read_colour(accent)) for theme, name in found}
    assert {
        key: (computed[key], found[key]) for key in found if not is_close(computed[key], found[key])
    } == {}


def is_close(one: Iterable[int], other: Iterable[int]) -> bool:
    """Return true if no channel differs by more than one step, as rounding may make it."""
    return all(abs(a - b) <= 1 for a, b in zip(one, other, strict=True))
