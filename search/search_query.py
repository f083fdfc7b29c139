"""The FTS5 expressions of a search, the best matches first. Pure: `search_table.py` runs them.

    all words    the same name, names that begin so, then all words: in the name; in the name, the tags and
                 the short description (the *near* words); anywhere
    any word     of several words all but one, then all but two, ...: near words first, then anywhere
    near misses  near words that are one or two edits away, in place of the typed ones

A word also stands for its plural, and for the categories whose names have it, in any language of the site. A
word that names the kind, such as "bot" in a search for bots, does not count beside others.

Marked words of the table begin with a private-use character. Nobody can type one into a search: there, such
characters separate words.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

from kinds.kind import Kind
from languages.texts import Text
from search.search_words import FEW, SHORTEST_BEGINNING, TEXT, Term, compact, folded, forms, terms

WHOLE, NAMED, NEAR, OF_CATEGORY, WITH_TAG, IN_LANGUAGE = (chr(0xE000 + number) for number in range(6))
IN_NAME, IN_NEAR, ANYWHERE = (NAMED,), (NEAR,), (NEAR, "")
"""The marks of the words of a place. A near word has no other."""
Translated = Callable[[Text], Iterable[str]]
"""Returns a text in every language of the site."""


class KindNames(NamedTuple):
    """The words that name a kind, and the categories by the words of their names."""

    own: frozenset[str]
    categories: Mapping[str, Sequence[str]]


def kind_names(kind: Kind, translated: Translated) -> KindNames:
    """Return the words for a kind and for its categories, in all languages."""
    nouns = (*translated(kind.nouns.one), *translated(kind.nouns.many), kind.singular, kind.plural)
    categories: dict[str, dict[str, None]] = {}
    for category, text in kind.categories.items():
        for name in (category, *translated(text)):
            for term in terms(name):
                for word in forms(written(term)):
                    categories.setdefault(word, {})[category] = None
    return KindNames(
        frozenset(word for noun in nouns for word in folded(noun).split()),
        {word: tuple(found) for word, found in categories.items()},
    )


class Query(NamedTuple):
    """A text that is searched for.

    `whole` has the names that equal the whole text. `within` ends each expression: the marked words that
    every match has, such as that of a category.
    """

    terms: Sequence[Term]
    names: KindNames
    whole: Sequence[str]
    within: str

    def all_words(self) -> Iterator[str]:
        """Yield the expressions for all words."""
        yield self._inside(" OR ".join(self.whole))
        yield self._inside(" OR ".join(f"{name} *" for name in self.whole))
        yield self._inside(self._all(self.terms, IN_NAME, shortest=1))
        for where in (IN_NEAR, ANYWHERE):
            yield self._inside(self._all(self.terms, where, shortest=TEXT))
            yield self._inside(self._all(self.terms, where, self._shortest))

    def everywhere(self) -> str:
        """Return the expression for all words whole, anywhere."""
        return self._inside(self._all(self.terms, ANYWHERE, shortest=TEXT))

    def any_word(self) -> Iterator[str]:
        """Yield the expressions for some of the words."""
        for size in range(len(self.terms) - 1, 0, -1):
            for where in (IN_NEAR, ANYWHERE):
                some = (self._all(each, where, self._shortest) for each in combinations(self.terms, size))
                yield self._inside(" OR ".join(f"({each})" for each in some))

    def near_misses(self) -> Iterator[str]:
        """Yield the expressions for all words of a query that has similar words in place of typed ones."""
        for where in (IN_NEAR, ANYWHERE):
            yield self._inside(self._all(self.terms, where, shortest=TEXT))

    def names_alone(self) -> Iterator[str]:
        """Yield the expressions for names that begin with the text, or that have such a word."""
        yield self._inside(" OR ".join(f"{name} *" for name in self.whole))
        yield self._inside(self._all(self.terms, IN_NAME, shortest=1))

    def matching(self, term: Term) -> str:
        """Return the expression for one term anywhere."""
        return self._all([term], ANYWHERE, self._shortest)

    @property
    def _shortest(self) -> int:
        return SHORTEST_BEGINNING if len(self.terms) <= FEW else TEXT

    def _inside(self, expression: str) -> str:
        return f"({expression}){self.within}" if self.within else expression

    def _all(self, wanted: Iterable[Term], where: Sequence[str], shortest: int) -> str:
        """Return the expression for all terms. A word has no quote, so none of it is syntax."""
        return " AND ".join(f"({' OR '.join(self._either(term, where, shortest))})" for term in wanted)

    def _either(self, term: Term, where: Sequence[str], shortest: int) -> Iterable[str]:
        """Yield the alternatives for a term."""
        first = term.words[0]
        for mark in where:
            if term.begins and (len(first) >= shortest or not first.isascii()):
                yield f'"{mark}{first}" *'
            elif len(term.words) > 1:
                yield " AND ".join(f'"{mark}{word}"' for word in term.words)
            else:
                yield from (f'"{mark}{form}"' for form in forms(first))
            yield from (f'"{mark}{form}"' for word in term.others for form in forms(word))
        if where is not IN_NAME:
            yield from self._categories(term)

    def _categories(self, term: Term) -> Iterator[str]:
        for word in (written(term), *term.others):
            for category in self.names.categories.get(word, ()):
                yield f'"{of_category(category)}"'


def query_of(text: str, names: KindNames, within: Sequence[str] = ()) -> Query:
    """Return the query of a text. Any text is allowed; one without words has no terms."""
    found = terms(text, names.own)
    whole = dict.fromkeys((compact(text[:TEXT]), "".join(map(written, found))))
    ends = "".join(f' AND "{word}"' for word in within)
    return Query(found, names, [f'"{WHOLE}{name}"' for name in whole], ends)


def written(term: Term) -> str:
    """Return the text of a term. Its words may be pairs of neighbours."""
    return "".join(word[0] for word in term.words[:-1]) + term.words[-1]


@cache
def of_category(category: str) -> str:
    """Return the marked word of the listings of a category."""
    return OF_CATEGORY + compact(category)


def with_tag(tag: str) -> str:
    """Return the marked word of the listings with a tag or a keyword."""
    return WITH_TAG + compact(tag)


def in_language(language: str) -> str:
    """Return the marked word of the listings in a language."""
    return IN_LANGUAGE + compact(language)
