"""web/people/listing_forms.py: what was typed goes to the API as it is."""

from typing import get_args

from core.rows import BotProfile, ServerProfile
from listings.fields import BotCategory, ServerCategory
from listings.forms import BotEdit, ServerEdit
from tests.support.english import english
from web.form_posts import FormPost
from web.people.listing_forms import CHOICES, LABELS, PROFILES, bot_profile, by_field, written


def test_a_form_has_every_field_of_a_profile_but_the_owners() -> None:
    owners = {"owner_id"}
    assert PROFILES["bots"](FormPost({})).keys() == BotEdit.model_fields.keys() - owners
    assert PROFILES["servers"](FormPost({})).keys() == ServerEdit.model_fields.keys() - owners
    assert {name for read in PROFILES.values() for name in read(FormPost({}))} <= LABELS.keys()


def test_the_description_keeps_its_white_space_which_means_something_in_markdown() -> None:
    text = "\n    code\n"
    assert bot_profile(FormPost({"description": [text], "name": [" A bot "]}))["description"] == text
    assert bot_profile(FormPost({"name": [" A bot "]}))["name"] == "A bot"


def test_a_profile_is_shown_as_it_would_be_sent() -> None:
    bot = BotProfile("A", "short", "long", ("Music",), None)
    assert written(bot)["categories"] == ("Music",)
    assert written(ServerProfile("A", "long", ("a", "b"), "Art"))["keywords"] == ("a", "b")


def test_what_is_wrong_in_a_list_stands_at_the_list_and_names_the_entry() -> None:
    errors = by_field({"name": "too long", "keywords.1": "is blank", "keywords.2": "is long"})
    assert {name: english(reason) for name, reason in errors.items()} == {
        "name": "too long",
        "keywords": "entry 2 is blank",
    }


def test_the_choices_are_those_of_the_contract() -> None:
    assert tuple(CHOICES["bots"]) == get_args(BotCategory)
    assert tuple(CHOICES["servers"]) == get_args(ServerCategory)
    assert all(english(words) == name for choices in CHOICES.values() for name, words in choices.items())
