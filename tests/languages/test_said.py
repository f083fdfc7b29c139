"""languages/said.py: each code has one text, for the API and for pages."""

import re
from string import Formatter
from typing import get_args

import pytest

from languages.said import SAID, Code, in_words, plainly
from languages.texts import Said, Text, in_english

# Facts that a body or a header says beside the text.
BESIDE = {"next_vote_ms", "retry_seconds", "until_ms"}


def names(text: Text | str) -> set[str]:
    english = text.english if isinstance(text, Text) else text
    return {name for _, name, _, _ in Formatter().parse(english) if name is not None}


def test_every_code_is_said_and_none_besides() -> None:
    codes = [code for codes in get_args(Code) for code in get_args(codes)]
    assert codes == list(SAID)


@pytest.mark.parametrize(("code", "said"), SAID.items(), ids=str)
def test_the_example_of_a_code_has_the_facts_that_its_texts_name(code: Code, said: Said) -> None:
    assert said.facts.keys() - BESIDE == names(said.text) - BESIDE
    assert names(said.text) <= said.facts.keys()
    assert names(said.plain or "") <= said.facts.keys()
    assert in_words(code, said.facts)


def test_the_text_of_the_api_is_english_with_the_facts() -> None:
    assert in_words("too_many_keys", {"most": 3}) == "A listing has 3 keys at most; delete one first."
    until_ms = 1_782_000_000_000
    said = in_words("quarantined", {"until_ms": until_ms, "reason": "Spam."})
    assert said == "The user is under quarantine until 2026-06-21 00:00 (UTC): Spam."


def test_a_page_says_the_same_or_plain_words() -> None:
    assert plainly("too_many_keys", {"most": 3}) == Text(
        "A listing has {most} keys at most; delete one first.", most="3"
    )
    assert plainly("no_snowflake") == Text("Enter the ID: 17 to 20 digits, and nothing else.")
    assert plainly("invalid_key") == "Invalid API key."


def test_no_page_says_a_fault_of_a_form_in_the_words_of_the_api() -> None:
    told = {code: in_english(plainly(code, SAID[code].facts)) for code in SAID if SAID[code].plain}
    assert [code for code, text in told.items() if re.search(r"should|input|string|list ", text)] == []
    faults = ("missing", "text_empty", "text_too_short", "text_too_long", "list_empty", "list_too_long")
    assert {*faults, "not_a_choice", "no_snowflake", "not_http", "not_whole"} <= told.keys()
    assert told["list_empty"] == "Choose at least one."


def test_a_text_may_be_a_fact_of_another() -> None:
    reason = Text("the disk does not keep up")
    said = plainly("unavailable", {"reason": reason})
    assert said == Text("Nothing can be written right now: {reason}.", reason=reason)
    assert in_english(said) == "Nothing can be written right now: the disk does not keep up."
