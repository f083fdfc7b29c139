"""kinds/kind.py: the forms of a kind are made of its profile, and so is all that others ask of a field."""

import pytest
from msgspec import structs

from forms.reading import read
from kinds.bots import BOTS, BotProfile
from kinds.kind import Kind
from kinds.registry import KINDS
from kinds.servers import SERVERS, ServerProfile
from languages.refusals import Invalid
from languages.said import Fault
from tests.support.form_bodies import BOT_BODY, SERVER_BODY, without

BOT = BotProfile("A", "short", "long", ("Music", "Utility"))
SERVER = ServerProfile("B", "about", ("one", "two"), "Art")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_an_edit_has_the_owner_and_the_profile_and_a_submission_has_the_id_too(kind: Kind) -> None:
    profile = [each.name for each in structs.fields(kind.profile)]
    assert [each.name for each in structs.fields(kind.edit)] == ["owner_id", *profile]
    submission = [each.name for each in structs.fields(kind.submission)]
    assert submission[: len(profile) + 2] == ["owner_id", *profile, "id"]
    assert submission[len(profile) + 2 :] == ([] if kind.co_owners is None else ["extra_owners"])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_people_see_every_field_of_a_profile(kind: Kind) -> None:
    assert kind.shown.keys() == kind.fields.keys()


def test_the_profile_of_a_form_has_its_fields() -> None:
    profile = ServerProfile("Test server", "A server for the tests", ("tests",), "Gaming")
    assert SERVERS.profile_of(read(SERVERS.edit, without(SERVER_BODY, "id"))) == profile
    assert SERVERS.profile_of(read(SERVERS.submission, SERVER_BODY)) == profile


def test_an_extra_owner_is_another_user_than_the_owner() -> None:
    with pytest.raises(Invalid) as refused:
        read(BOTS.submission, {**BOT_BODY, "extra_owners": [BOT_BODY["owner_id"]]})
    assert refused.value.faults == {"extra_owners": Fault("names_the_owner")}


def test_a_search_finds_a_profile_by_the_fields_that_say_so() -> None:
    assert BOTS.values(BOT, "title") == ("A",)
    assert BOTS.values(BOT, "category") == ("Music", "Utility")
    assert BOTS.values(BOT, "keyword") == ()
    assert BOTS.words(BOT) == ("short", "Music", "Utility", "long")
    assert SERVERS.values(SERVER, "category") == ("Art",)
    assert SERVERS.values(SERVER, "keyword") == ("one", "two")
    assert SERVERS.words(SERVER) == ("about", "Art", "one", "two")


def test_lists_show_the_first_words_and_pages_the_long_text() -> None:
    assert (BOTS.summary(BOT), BOTS.prose(BOT), BOTS.is_markdown) == ("short", "long", True)
    assert (SERVERS.summary(SERVER), SERVERS.prose(SERVER), SERVERS.is_markdown) == ("about", "about", False)


def test_a_kind_knows_its_categories() -> None:
    assert "Moderation" in BOTS.categories
    assert "Gaming" in SERVERS.categories
    assert "Gaming" not in BOTS.categories
