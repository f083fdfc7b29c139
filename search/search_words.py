"""The words of a text, for the index and for a search. Invariant: both get them from here.

SQLite's own tokenizers do not fit listings: `trigram` has no words of one or two characters, and `unicode61`
takes a Japanese sentence for one word. So this file folds and separates words, and passes them to the
plainest tokenizer, `ascii`: it only splits ASCII, and takes every other character for a part of a word.

* Case, accents, width and fancy letters do not matter, and a dotless i is an i.
* In scripts without spaces, each pair of neighbours is a word. The last character of a run is one, too, so
  that every character begins a word.
* A symbol, such as an emoji, is a word of its own. Everything else separates words.
"""

import re
import unicodedata
from typing import NamedTuple

TERMS = 4
"""The words of a query that count. More make it slow and hardly better."""
TEXT = 256
"""The characters of a query that count."""
SHORTEST_BEGINNING = 4
FEW = 3
"""A last word that is shorter, or that follows as many words, must be whole in a text: a search for all words
that begin so takes too long."""

_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
_SPACELESS = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
"""Japanese and Chinese; Thai and Lao; Burmese; Khmer."""
_RUN = re.compile(f"[{_SPACELESS}]+")
_PARTS = re.compile(f"[{_SPACELESS}]+|[^ {_SPACELESS}]+")
_ASCII_WORD = re.compile("[a-z0-9]+")
_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])")


class _Characters(dict[int, str]):
    """Each character as it stands among words; it is looked up once."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category in {"Cf"} or 0xFE00 <= code <= 0xFE0F:  # joiners, and how an emoji is drawn
            found = ""
        elif category[0] in "LNM":
            found = character
        else:
            found = f" {character} " if category == "So" else " "
        self[code] = found
        return found


_characters = _Characters({ord("ı"): "i", ord("ł"): "l", ord("ø"): "o", ord("đ"): "d"})


class Term(NamedTuple):
    """A term of a query: words that follow each other. The last one may be only a beginning."""

    words: tuple[str, ...]
    begins: bool


def folded(text: str) -> str:
    """Return the words of a text, each behind a space but the first. A run without spaces is still one."""
    if text.isascii():
        return " ".join(_ASCII_WORD.findall(text.lower()))
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    composed = unicodedata.normalize("NFKC", _ACCENTS.sub("", plain))
    return " ".join(composed.translate(_characters).split())


def compact(text: str) -> str:
    """Return the words of a text without spaces, by which "Music Bot" and "musicbot" are the same name."""
    return folded(text).replace(" ", "")


def beginning(text: str, most: int) -> str:
    """Return the first `most` characters of a text. One of a script without spaces counts as four of them:
    it is a word."""
    cut = text[:most]
    if cut.isascii():
        return cut
    return cut[: most - sum(map(len, _RUN.findall(cut))) * 3 // 4]


def indexed(text: str) -> str:
    """Return a text as the tokenizer gets it."""
    return text.lower() if text.isascii() else _paired(folded(text))


def indexed_name(name: str) -> str:
    """Return the words of a name, each behind a space but the first: "MusicBot" is one word and also two."""
    parts = _HUMP.sub(" ", name)
    words = folded(name if parts == name else f"{name} {parts}")
    return words if words.isascii() else " ".join(_paired(words).split())


def terms(text: str) -> list[Term]:
    """Return the terms of a text that is searched for, at most `TERMS`; the last word may go on."""
    words = _PARTS.findall(folded(text[:TEXT]))[:TERMS]
    last = len(words) - 1
    return [_term(word, is_last=number == last) for number, word in enumerate(words)]


def _term(word: str, *, is_last: bool) -> Term:
    if not _RUN.fullmatch(word):
        return Term((word,), begins=is_last)
    return Term(_pairs(word), begins=False) if len(word) > 1 else Term((word,), begins=True)


def _paired(words: str) -> str:
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} {run[0][-1]} ", words)


def _pairs(run: str) -> tuple[str, ...]:
    return tuple(run[at : at + 2] for at in range(len(run) - 1))
