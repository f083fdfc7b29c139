"""Docstrings, comments, texts and documents are in plain English."""

import pytest

from tests.support.plain_english import all_findings, judged, spoken_in, strings_in


def test_every_file_is_in_plain_english() -> None:
    assert all_findings() == []


def words(text: str) -> list[str]:
    return [each.text for each in judged(1, text, is_block=True)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What a bot is told.", ["What"]),
        ("Return it.\n\nWhether it is there.", ["Whether"]),
        ("* Of all bots, one.\n* A bot.\n* How it goes.", ["Of", "How"]),
        ("1. Those that wait.", ["Those"]),
        ("A bot that whoever\nasks is told of.", ["whoever", "is told of"]),
        ("It stands\nin a row, that\nwhich is made anew.", ["stands in", "that which", "anew"]),
        ("Law: it is so.", ["Law:"]),
        ("Offers end. Howling and Whatever are words.", []),
        ("What is a bot? A program.", []),
        ('The word "anew" and `whoever` are quotations.', []),
        ("## How it works", []),
        ("| What | Who |", []),
        ("The stand-in mentions an amendment.", []),
    ],
)
def test_words_and_openings_are_found(text: str, found: list[str]) -> None:
    assert words(text) == found


SOURCE = '''"""Law: one."""

# How two
# goes on.
TEXT = Text("three is done anew")  # Whether four
TABLE = {"How": "How many there are.", "Those": f"Those of {LONG}", "Who": "By those", "What": "What is it?"}
LONG = """
# What is no comment
"""


def five() -> None:
    """Whom."""
'''


def test_docstrings_comments_and_strings_of_a_module_are_read() -> None:
    spoken = [
        (line, each.text) for line, text, _ in spoken_in(SOURCE) for each in judged(line, text, is_block=True)
    ]
    assert sorted(spoken) == [(1, "Law:"), (3, "How"), (5, "Whether"), (13, "Whom")]
    said = [
        (line, each.text)
        for line, text, is_block in strings_in(SOURCE)
        for each in judged(line, text, is_block=is_block)
    ]
    assert sorted(said) == [(5, "anew"), (6, "How"), (6, "Those")]
