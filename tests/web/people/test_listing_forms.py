"""web/people/listing_forms.py: what was typed goes to the API as it is."""

from kinds.bots import BotProfile
from kinds.servers import ServerProfile
from tests.support.english import english
from web.people.listing_forms import by_field, written


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
