"""Names of browsers: known ones are named, and nothing that a browser says of itself gets through."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.account.browsers import _BROWSERS, _SYSTEMS, READ_CHARACTERS, UNKNOWN, browser_label

AGENTS = {
    "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0": "Firefox on Linux",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 "
    "Safari/537.36": "Chrome on Windows",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 "
    "Safari/537.36 Edg/142.0.0.0": "Edge on Windows",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 "
    "Safari/605.1.15": "Safari on macOS",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "CriOS/142.0.0.0 Mobile/15E148 Safari/604.1": "Chrome on iOS",
    "Mozilla/5.0 (Linux; Android 15; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/29.0 "
    "Chrome/136.0.0.0 Mobile Safari/537.36": "Samsung Internet on Android",
    "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 "
    "Safari/537.36": "Chrome on ChromeOS",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 "
    "OPR/125.0.0.0": "Opera on Linux",
    "curl/8.14.1": UNKNOWN,
    "Mozilla/5.0 (X11; Linux x86_64)": f"{UNKNOWN} on Linux",
    "": UNKNOWN,
}
NAMES = [UNKNOWN, *(name for _, name in _BROWSERS)]
LABELS = {*NAMES, *(f"{name} on {system}" for name, (_, system) in itertools.product(NAMES, _SYSTEMS))}


@pytest.mark.parametrize(("agent", "label"), AGENTS.items(), ids=AGENTS.values())
def test_a_browser_is_named_with_its_system(agent: str, label: str) -> None:
    assert browser_label(agent) == label


def test_a_browser_that_says_nothing_is_unknown() -> None:
    assert browser_label(None) == UNKNOWN


@given(st.text() | st.lists(st.sampled_from([*AGENTS, "<script>", "Firefox/", "\n"])).map("".join))
def test_a_label_is_made_of_words_of_ours_alone(agent: str) -> None:
    assert browser_label(agent) in LABELS


def test_no_more_is_read_than_a_browser_has_to_say() -> None:
    assert browser_label("x" * READ_CHARACTERS + "Firefox/145.0") == UNKNOWN
