"""The tones of an accent, as chromium computes them from the stylesheet."""

from itertools import product

import pytest
from playwright.sync_api import Browser

from grammars.accents import TONES, tone
from grammars.colours import read_colour
from tests.support.browser import THEMES
from tests.support.gateways import ROOT

PAINTED = """tones => {
  const context = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  return tones.map(tone => {
    const shown = document.createElement("div");
    shown.style.background = `var(--${tone})`;
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
        found |= dict(zip(product([theme], TONES), page.evaluate(PAINTED, [*TONES]), strict=True))
        page.close()

    differences = {
        key: (tone(key[1], key[0], read_colour(accent)), tuple(painted))
        for key, painted in found.items()
        if max(abs(a - b) for a, b in zip(tone(key[1], key[0], read_colour(accent)), painted, strict=True))
        > 1
    }
    assert differences == {}
