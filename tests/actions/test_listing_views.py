"""Views of listings take the fields of their profiles."""

import pytest
from msgspec import Struct
from msgspec.structs import fields

from actions.listing_views import BotAnswer, BotView, ServerView
from kinds.bots import BotProfile
from kinds.servers import ServerProfile


@pytest.mark.parametrize(("view", "profile"), [(BotView, BotProfile), (ServerView, ServerProfile)])
def test_a_listing_shows_every_field_of_its_profile(view: type[Struct], profile: type[Struct]) -> None:
    names = [field.name for field in fields(view)]
    written = [field.name for field in fields(profile)]
    assert names[:2] == ["id", "owner_id"]
    assert names[2 : 2 + len(written)] == written


def test_an_answer_about_a_bot_begins_with_success() -> None:
    assert [field.name for field in fields(BotAnswer)] == ["success", *(f.name for f in fields(BotView))]
