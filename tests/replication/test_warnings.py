"""replication/warnings.py: the log tells a warning when it begins and when it ends."""

import pytest

from replication.warnings import Warnings
from tests.support.warned import warned


def test_a_concern_is_told_when_it_begins_and_when_it_ends_and_shown_in_its_newest_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    warnings = Warnings()
    for words in (None, "late by 30", "late by 31", None, None, "late by 30"):
        warnings.note(("late", "b"), words, "late no more")
        assert [*warnings.current.values()] == ([words] if words else [])
    assert warned(caplog) == ["late by 30", "late no more", "late by 30"]


def test_a_concern_about_a_node_goes_with_the_node_and_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    warnings = Warnings()
    for name in ("b", "c", ""):
        warnings.note(("late", name), f"late {name}", "")
    warned(caplog)
    warnings.forget_all_but({"c"})
    assert [*warnings.current.values()] == ["late c", "late "]
    assert warned(caplog) == []
