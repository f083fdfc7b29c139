"""Texts of ours. Invariant: code names a text in English, and does not know the language of its reader.

A `Text` is translated when its page is drawn (`web/localization.py`). A `str` is somebody else's text, or a
word of code: it is shown as it is. `make messages` finds every `Text("...")`, so its English is a literal.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, Union


class Text:
    """A text with values in the places of its names, such as `Text("Rotate the key {name}", name=key.name)`.

    A number is written as the language writes it, and a text among the values is said, too.
    """

    __slots__ = ("english", "values")

    def __init__(self, english: str, /, **values: Union["Text", str, int]) -> None:
        self.english = english
        self.values: Mapping[str, Text | str | int] = values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and (self.english, self.values) == (other.english, other.values)

    def __hash__(self) -> int:
        return hash((self.english, *self.values))

    def __repr__(self) -> str:
        return f"Text({self.english!r}, {dict(self.values)!r})"


Words = Text | str
"""A text of ours, or the words of somebody else."""
Fact = Words | int | None
Facts = Mapping[str, Fact]
NO_FACTS: Facts = MappingProxyType({})


class Said(NamedTuple):
    """The texts of a code.

    `facts` are an example of its facts. A page says `plain` where only programmers would understand `text`.
    `summary` heads the example in the OpenAPI document.
    """

    status: int
    text: Words
    facts: Facts = NO_FACTS
    plain: Text | None = None
    summary: str = ""


def in_english(words: Words) -> str:
    """Return a text in English, as the API and the log write it."""
    if not isinstance(words, Text):
        return words
    return words.english.format_map(
        {
            name: in_english(value) if isinstance(value, Text) else value
            for name, value in words.values.items()
        }
    )


NO_ERRORS: Mapping[str, Words] = MappingProxyType({})
"""The errors of a form in which nothing is wrong."""
