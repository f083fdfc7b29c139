"""Codes of refusals are part of the API: programs compare them, so none is renamed or removed."""

from pathlib import Path

from languages.refusal_texts import REFUSAL_TEXTS

RECORDED = Path(__file__).with_name("refusal_codes.txt")
"""A line for each code that an answer may have had, with its status. Lines are only ever added."""


def test_no_code_is_renamed_and_each_keeps_its_status() -> None:
    recorded = dict(line.split() for line in RECORDED.read_text().splitlines())
    now: dict[str, str] = {code: str(said.status) for code, said in REFUSAL_TEXTS.items()}
    assert {code: now.get(code) for code in recorded} == recorded


def test_every_code_is_recorded() -> None:
    recorded = {line.split()[0] for line in RECORDED.read_text().splitlines()}
    assert REFUSAL_TEXTS.keys() <= recorded
