"""kinds/kind.py: the forms of a kind are made of its profile, and so is all that others ask of a field."""

import re
from functools import partial

import pytest
from msgspec import structs

from forms.reading import read
from forms.schema import type_schema
from kinds.bots import BOTS, BotProfile
from kinds.kind import Given, Kind, Made, OfUser
from kinds.registry import KINDS
from kinds.servers import SERVERS, ServerProfile
from languages.refusals import Invalid
from languages.said import Fault
from languages.texts import Text
from tests.support.form_bodies import BOT_BODY, SERVER_BODY, without

BOT = BotProfile("A", "short", "long", ("Music", "Utility"))
SERVER = ServerProfile("B", "about", ("one", "two"), "Art")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_an_edit_has_the_owner_and_the_profile_and_a_submission_has_the_id_too(kind: Kind) -> None:
    profile = [each.name for each in structs.fields(kind.profile)]
    assert [each.name for each in structs.fields(kind.edit)] == ["owner_id", *profile]
    submission = [each.name for each in structs.fields(kind.submission)]
    given = ["id"] * isinstance(kind.id, Given) + ["extra_owners"] * (kind.co_owners is not None)
    assert submission == ["owner_id", *profile, *given]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_people_see_every_field_of_a_profile(kind: Kind) -> None:
    assert kind.shown.keys() == kind.fields.keys()


THINGS = partial(Kind, plural="things", singular="thing", nouns=BOTS.nouns, profile=BotProfile)


@pytest.mark.parametrize(
    ("ids", "ref"),
    [
        (Given(), f"things/{BOT_BODY['id']}"),
        (Made(6), "things/0a0a0a0a0a0a"),
        (OfUser(Text("Yours")), f"things/{BOT_BODY['owner_id']}"),
    ],
    ids=["given", "made", "of the user"],
)
def test_the_id_of_a_new_listing_is_that_which_its_kind_says(ids: Given | Made | OfUser, ref: str) -> None:
    kind = THINGS(id=ids)
    body = BOT_BODY if isinstance(ids, Given) else without(BOT_BODY, "id")
    form = read(kind.submission, without(body, "extra_owners"))
    assert kind.new_ref(form, lambda count: b"\n" * count) == ref
    assert re.fullmatch(type_schema(ids.type).get("pattern", ".*"), ids.sample)


def test_a_submission_names_an_id_only_if_it_is_given() -> None:
    body = without(BOT_BODY, "extra_owners")
    with pytest.raises(Invalid) as refused:
        read(THINGS(id=Made(6)).submission, body)
    assert refused.value.faults == {"id": Fault("unknown_field")}
    with pytest.raises(Invalid) as refused:
        read(THINGS(id=Given()).submission, without(body, "id"))
    assert refused.value.faults == {"id": Fault("missing")}


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
    assert (BOTS.near_words(BOT), BOTS.further_words(BOT)) == (("short",), ("long",))
    assert SERVERS.values(SERVER, "category") == ("Art",)
    assert SERVERS.values(SERVER, "keyword") == ("one", "two")
    assert (SERVERS.near_words(SERVER), SERVERS.further_words(SERVER)) == (("about", "one", "two"), ())


def test_lists_show_the_first_words_and_pages_the_long_text() -> None:
    assert (BOTS.summary(BOT), BOTS.prose(BOT), BOTS.is_markdown) == ("short", "long", True)
    assert (SERVERS.summary(SERVER), SERVERS.prose(SERVER), SERVERS.is_markdown) == ("about", "about", False)


def test_a_kind_knows_its_categories() -> None:
    assert "Moderation" in BOTS.categories
    assert "Gaming" in SERVERS.categories
    assert "Gaming" not in BOTS.categories
