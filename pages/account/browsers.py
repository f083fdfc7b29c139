"""Names of browsers. Invariant: a name has words of ours alone, and nothing of the browser's header.

A session keeps the name in English. A page shows it in the language of its visitor.
"""

from languages.texts import Text, Words

READ_CHARACTERS = 512
UNKNOWN = "Unknown browser"

# A browser also names others that it resembles, so the first match counts.
_BROWSERS = (
    (("Edg/", "EdgA/", "EdgiOS/"), "Edge"),
    (("OPR/", "Opera"), "Opera"),
    (("SamsungBrowser/",), "Samsung Internet"),
    (("Vivaldi/",), "Vivaldi"),
    (("Firefox/", "FxiOS/"), "Firefox"),
    (("Chrome/", "CriOS/", "Chromium/"), "Chrome"),
    (("Safari/",), "Safari"),
)
_SYSTEMS = (
    (("iPhone", "iPad"), "iOS"),
    (("Android",), "Android"),
    (("Windows",), "Windows"),
    (("Mac OS X", "Macintosh"), "macOS"),
    (("CrOS",), "ChromeOS"),
    (("Linux", "X11"), "Linux"),
)


def browser_label(user_agent: str | None) -> str:
    """Return the browser and its system, such as "Firefox on Linux", by its `User-Agent` header."""
    text = (user_agent or "")[:READ_CHARACTERS]
    browser, system = _first(text, _BROWSERS), _first(text, _SYSTEMS)
    return f"{browser or UNKNOWN} on {system}" if system is not None else browser or UNKNOWN


def label_in_words(label: str) -> Words:
    """Return the label of a session as pages show it."""
    browser, on, system = label.partition(" on ")
    named = Text("Unknown browser") if browser == UNKNOWN else browser
    return Text("{browser} on {system}", browser=named, system=system) if on else named


def _first(text: str, names: tuple[tuple[tuple[str, ...], str], ...]) -> str | None:
    return next((name for signs, name in names if any(sign in text for sign in signs)), None)
