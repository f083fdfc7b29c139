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
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

TERMS = 4
"""The words of a query that count. More make it slow and hardly better."""
TEXT = 256
"""The characters of a query that count."""
SHORTEST_BEGINNING = 4
FEW = 3
"""A last word that is shorter, or that follows as many words, must be whole in a text: a search for all words
that begin so takes too long."""
SHORTEST_PLURAL = 4
"""The number of letters from which a word also stands for its form with or without a final s."""
SHORTEST_NEAR, TWO_EDITS_FROM = 4, 7
"""The numbers of letters from which a word may have one wrong letter, and two."""
_SMALL = """
    a an and are can for from how i in is it me my of on or our that the this to which who with you your
    das dem den der des die ein eine fur ich im mit und von zu zum
    au aux avec dans de des du en et la le les mon pour qui sur un une
    con del el los las mi para por que se un una
    as com da do dos e em meu o os uma
    bir bu icin ile ve
    в для и на по с что
"""
SMALL = frozenset(_SMALL.split())
"""The small words of the site's languages, such as articles: they say nothing about a listing."""

_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
_SPACELESS = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
"""Japanese and Chinese; Thai and Lao; Burmese; Khmer."""
_RUN = re.compile(f"[{_SPACELESS}]+")
_PARTS = re.compile(f"[{_SPACELESS}]+|[^ {_SPACELESS}]+")
_LETTERS = re.compile("[a-z]+")
_ASCII_WORD = re.compile("[a-z0-9]+")
_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])")


MOST_LOOKED_UP = 50_000
"""The characters that are kept as they stand among words: 8 MB. Anybody may search for all of Unicode."""


class _Characters(dict[int, str]):
    """Each character as it stands among words; it is looked up once while there is room."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category in {"Cf"} or 0xFE00 <= code <= 0xFE0F:  # joiners, and how an emoji is drawn
            found = ""
        elif category[0] in "LNM":
            found = character
        else:
            found = f" {character} " if category == "So" else " "
        if len(self) < MOST_LOOKED_UP:
            self[code] = found
        return found


_characters = _Characters({ord("ı"): "i", ord("ł"): "l", ord("ø"): "o", ord("đ"): "d"})


class Term(NamedTuple):
    """A term of a query: words that follow each other. The last one may be only a beginning.

    `others` are words that do as well: those of which it may be a misspelling.
    """

    words: tuple[str, ...]
    begins: bool
    others: tuple[str, ...] = ()


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


def separated(text: str) -> Sequence[str]:
    """Return the words of a text one by one, as the tokenizer separates them."""
    words = folded(text)
    return (words if words.isascii() else _paired(words)).split()


def indexed_name(name: str) -> str:
    """Return the words of a name, each behind a space but the first: "MusicBot" is one word and also two."""
    parts = _HUMP.sub(" ", name)
    words = folded(name if parts == name else f"{name} {parts}")
    return words if words.isascii() else " ".join(_paired(words).split())


def terms(text: str, dropped: Collection[str] = ()) -> list[Term]:
    """Return the terms of a text that is searched for, at most `TERMS`; the last word may go on.

    Small words and the dropped ones do not count, unless there are no others.

    Args:
        dropped: words that tell nothing, such as those that name the kind that is searched.
    """
    whole = folded(text[:TEXT])
    kept = [word for word in _PARTS.findall(_without_runs(whole, dropped)) if _counts(word, dropped)]
    words = (kept or _PARTS.findall(whole))[:TERMS]
    is_end = bool(words) and whole.endswith(words[-1])
    last = len(words) - 1
    return [_term(word, is_last=is_end and number == last) for number, word in enumerate(words)]


def forms(word: str) -> tuple[str, ...]:
    """Return a word, and the same as a plural or without it, where a final s makes one."""
    if len(word) < SHORTEST_PLURAL or not _LETTERS.fullmatch(word):
        return (word,)
    if not word.endswith("s"):
        return word, f"{word}s"
    return (word,) if word.endswith(("ss", "us", "is")) else (word, word[:-1])


def edits_allowed(word: str) -> int:
    """Return the most edits between a word and the word that it may mean."""
    if len(word) < SHORTEST_NEAR or _RUN.search(word):
        return 0
    return 2 if len(word) >= TWO_EDITS_FROM else 1


def near_words(word: str, others: Iterable[str], edits: int) -> Mapping[str, int]:
    """Return the other words that at most so many edits make of a word, each with the number of its edits. An
    edit adds, removes or replaces a letter, or swaps two neighbours (optimal string alignment)."""
    letters = _places(word)
    shortest, longest, missing = len(word) - edits, len(word) + edits, frozenset(word).difference
    distances = {
        other: _distance(letters, len(word), other)
        for other in others
        # An edit removes at most one letter. One word in fifteen passes, ten times as fast as `_distance`.
        if shortest <= len(other) <= longest and len(missing(other)) <= edits
    }
    return {other: distance for other, distance in distances.items() if distance <= edits}


def _places(word: str) -> Mapping[str, int]:
    """Return the places of each letter of a word, as the bits of a number."""
    places: dict[str, int] = {}
    for at, letter in enumerate(word):
        places[letter] = places.get(letter, 0) | 1 << at
    return places


def _distance(letters: Mapping[str, int], length: int, other: str) -> int:
    """Return the number of edits between a word of one letter or more and another word.

    The distance of two words is the end of a table with a row for each letter of the other word. Neighbours
    in a row differ by one at most, so two numbers of one bit for each letter hold a row, and a few operations
    make the next one: H. Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit
    distances", 2003. The names are those of the article.
    """
    ones, end, score = (1 << length) - 1, 1 << length >> 1, length
    vp, vn, d0, before = ones, 0, 0, 0
    for letter in other:
        pm = letters.get(letter, 0)
        swapped = ((~d0 & pm) << 1) & before
        d0 = (((pm & vp) + vp) ^ vp) | pm | vn | swapped
        hp, hn = vn | ~(d0 | vp), d0 & vp
        score += bool(hp & end) - bool(hn & end)
        hp, hn = hp << 1 | 1, hn << 1
        vp, vn, before = (hn | ~(d0 | hp)) & ones, hp & d0 & ones, pm
    return score


def _counts(word: str, dropped: Collection[str]) -> bool:
    return word not in SMALL and word not in dropped


def _without_runs(words: str, dropped: Collection[str]) -> str:
    """Take dropped words out of scripts without spaces, where they are parts of a run."""
    for word in dropped:
        if _RUN.fullmatch(word):
            words = words.replace(word, " ")
    return words


def _term(word: str, *, is_last: bool) -> Term:
    if not _RUN.fullmatch(word):
        return Term((word,), begins=is_last)
    return Term(_pairs(word), begins=False) if len(word) > 1 else Term((word,), begins=True)


def _paired(words: str) -> str:
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} {run[0][-1]} ", words)


def _pairs(run: str) -> tuple[str, ...]:
    return tuple(run[at : at + 2] for at in range(len(run) - 1))
