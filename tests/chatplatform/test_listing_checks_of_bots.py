"""chatplatform/listing_checks.py: a plain no is an obstacle, and what nobody knows is none."""

import itertools

import pytest

from chatplatform.answers import Answer, PlatformApplication
from chatplatform.listing_checks import obstacles

ANSWERS: tuple[Answer, ...] = ("yes", "no", "unknown")


@pytest.mark.parametrize(("inviteable", "commands"), [*itertools.product(ANSWERS, ANSWERS)])
def test_each_plain_no_is_an_obstacle_and_nothing_else_is(inviteable: Answer, commands: Answer) -> None:
    found = obstacles(PlatformApplication("1", "A bot", is_inviteable=inviteable, has_commands=commands))
    assert ("not_inviteable" in found) == (inviteable == "no")
    assert ("no_commands" in found) == (commands == "no")
    assert len(found) == (inviteable, commands).count("no")


def test_an_application_that_is_not_there_is_an_obstacle() -> None:
    assert obstacles(None) == ["no_application"]
