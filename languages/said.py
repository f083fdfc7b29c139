"""The texts of refusals: one table says each code once. Invariant: a code names one text and one status.

A rule says no with a code and its facts: `Refusal("too_many_keys", most=10)` of a whole request, `Fault` of
one field. The API formats the English text with the facts, a page says the plain text or the same one in the
visitor's language, and the OpenAPI document formats the example. A `Text` is in the catalogs of pages; a
`str` is for programmers and operators alone, and every page shows it in English. The table is in two files:
`refusal_texts.py` has the codes of whole requests, and `fault_texts.py` those of fields.

Facts whose names end in `_ms` are times. A text writes them in UTC. The document shows the examples in the
order of the table.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from languages.fault_texts import FAULT_TEXTS, FaultCode
from languages.refusal_texts import REFUSAL_TEXTS, RefusalCode
from languages.texts import NO_FACTS, Fact, Facts, Said, Text, Words, in_english

Code = RefusalCode | FaultCode
SAID: Mapping[Code, Said] = dict((*REFUSAL_TEXTS.items(), *FAULT_TEXTS.items()))


class Fault(NamedTuple):
    """A broken rule of a field, or the reason of a refusal: a code, and the facts that its text names."""

    code: Code
    facts: Facts = NO_FACTS


def in_words(code: Code, facts: Facts = NO_FACTS) -> str:
    """Return the English text of the API."""
    return in_english(_filled(SAID[code].text, facts))


def plainly(code: Code, facts: Facts = NO_FACTS) -> Words:
    """Return the text of a page."""
    said = SAID[code]
    return _filled(said.plain or said.text, facts)


def _filled(words: Words, facts: Facts) -> Words:
    """Return the text with the facts that it names."""
    values = {name: _value(name, fact) for name, fact in facts.items()}
    if isinstance(words, Text):
        return Text(words.english, **values)
    return in_english(Text(words, **values))


def _value(name: str, fact: Fact) -> Words:
    if isinstance(fact, int) and name.endswith("_ms"):
        return f"{datetime.fromtimestamp(fact / 1_000, UTC):%Y-%m-%d %H:%M}"
    return fact if isinstance(fact, Text) else str(fact)
