"""listings/forms.py, kinds/: the values that the forms of a listing accept and refuse."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forms.fields import Form, Nothing, declared_fields
from forms.reading import read
from kinds.bots import BOTS
from kinds.servers import SERVERS
from languages.refusals import Invalid
from listings.forms import (
    ActualServerCount,
    Denial,
    FailedSince,
    KeyName,
    Limits,
    Overlap,
    Rotation,
    Voter,
    Voters,
    WebhookSettings,
)
from tests.support.examples import examples
from tests.support.form_bodies import BOT_BODY, SERVER_BODY, Body, as_body, form_schema, without, wrong_fields
from tests.support.sample_rows import OTHER_USER, OWNER, USER

URL = "https://receiver.example/votes"


LEFT_OUT: Body = {
    **dict.fromkeys(("support_invite", "website", "source", "privacy")),
    "tags": [],
    "commands": [],
    "text_language": "",
    "banner": None,
    "screenshots": [],
}
"""The fields of a bot that may be left out, as they are read then."""


def test_a_bot_is_read_as_it_came() -> None:
    assert as_body(read(BOTS.submission, BOT_BODY)) == {
        **BOT_BODY,
        "extra_owners": [],
        **LEFT_OUT,
    }
    extra = {
        "extra_owners": [USER, OTHER_USER],
        "support_invite": "https://chat.example/invite",
        "website": "https://bot.example",
        "source": "https://code.example",
        "privacy": "https://bot.example/privacy",
        "tags": ["lo-fi"],
        "commands": ["/play: Plays a song"],
        "text_language": "en",
        "banner": None,
        "screenshots": [],
    }
    assert as_body(read(BOTS.submission, {**BOT_BODY, **extra})) == {**BOT_BODY, **extra}


def test_a_server_is_read_as_it_came() -> None:
    pictures: Body = {"banner": None, "screenshots": []}
    assert as_body(read(SERVERS.submission, SERVER_BODY)) == {
        **SERVER_BODY,
        "invite": None,
        "text_language": "",
        **pictures,
    }
    extra = {"invite": "abc123", "text_language": "de", **pictures}
    assert as_body(read(SERVERS.submission, {**SERVER_BODY, **extra})) == {**SERVER_BODY, **extra}


@pytest.mark.parametrize(
    ("form", "body", "name"),
    [
        *((BOTS.submission, BOT_BODY, name) for name in BOT_BODY),
        *((SERVERS.submission, SERVER_BODY, name) for name in SERVER_BODY),
        (Denial, {"reason": "Too quiet."}, "reason"),
        (KeyName, {"name": "production"}, "name"),
        (WebhookSettings, {"url": URL}, "url"),
        (Voter, {"user": USER}, "user"),
        (Voters, {"users": [USER]}, "users"),
        (ActualServerCount, {"server_count": 5}, "server_count"),
        (FailedSince, {"failed_since": 5}, "failed_since"),
    ],
)
def test_a_required_field_may_not_be_missing_null_or_of_another_type(
    form: type[Form], body: Body, name: str
) -> None:
    read(form, body)
    assert wrong_fields(form, without(body, name)) == {name: "field required"}
    others: list[Any] = [None, True, 1.5, {}]
    for value in others:
        assert list(wrong_fields(form, {**body, name: value})) == [name]


def test_an_edit_cannot_change_the_id() -> None:
    read(BOTS.edit, without(BOT_BODY, "id"))
    read(SERVERS.edit, without(SERVER_BODY, "id"))
    assert list(wrong_fields(BOTS.edit, BOT_BODY)) == ["id"]
    assert list(wrong_fields(SERVERS.edit, SERVER_BODY)) == ["id"]


def test_an_extra_owner_is_another_user_than_the_owner() -> None:
    reasons = wrong_fields(BOTS.submission, {**BOT_BODY, "extra_owners": [USER, OWNER]})
    assert reasons == {"extra_owners": "must be other users than the owner"}


def test_every_wrong_field_is_reported_at_once() -> None:
    body = {
        **without(BOT_BODY, "name"),
        "owner_id": "me",
        "categories": ["Chess", "Utility"],
        "colour": "red",
    }
    assert list(wrong_fields(BOTS.submission, body)) == ["owner_id", "name", "categories.0", "colour"]


def test_a_reason_is_a_sentence_that_follows_its_field() -> None:
    too_large = {"owner_id": "99999999999999999999"}
    assert wrong_fields(BOTS.submission, {**BOT_BODY, **too_large}) == {
        "owner_id": "must be a snowflake: 17 to 20 digits"
    }


GOOD: list[tuple[type[Form], Body, str, list[Any]]] = [
    (BOTS.submission, BOT_BODY, "id", ["10000000000000000", "18446744073709551615"]),
    (BOTS.submission, BOT_BODY, "name", ["x", "x" * 100, "Ünïcödé 🤖", " spaced "]),
    (BOTS.submission, BOT_BODY, "short_description", ["x" * 16, "x" * 150]),
    (BOTS.submission, BOT_BODY, "description", ["x" * 32, "x" * 8_192, "# Title\r\n\tand text" * 2]),
    (BOTS.submission, BOT_BODY, "categories", [["Fun & Games", "Anime & Manga", "Other"]]),
    (BOTS.submission, BOT_BODY, "extra_owners", [[], [str(10**17 + n) for n in range(4)]]),
    (BOTS.submission, BOT_BODY, "support_invite", [None, "http://chat.example"]),
    (BOTS.submission, BOT_BODY, "website", [None, "https://bot.example", "HTTPS://bot.example/a?b#c"]),
    (BOTS.submission, BOT_BODY, "source", [None, "https://code.example/bot"]),
    (BOTS.submission, BOT_BODY, "privacy", [None, "https://bot.example/privacy"]),
    (BOTS.submission, BOT_BODY, "tags", [[], ["x" * 32, "歌"], ["c++", "lo-fi", "d", "e", "f", "g", "h"]]),
    (
        *(BOTS.submission, BOT_BODY, "commands"),
        [[], ["a: b"], ["/set channel:#a lang:en: Sets it up"], [f"/c{n}: Counts" for n in range(60)]],
    ),
    (SERVERS.submission, SERVER_BODY, "invite", [None, "ab", "pixel-Tavern1", "x" * 64]),
    (SERVERS.submission, SERVER_BODY, "description", ["", "x", "x" * 256, "two\nlines"]),
    (SERVERS.submission, SERVER_BODY, "keywords", [[], ["x" * 32, "b", "c", "d", "e"]]),
    (SERVERS.submission, SERVER_BODY, "category", ["Public", "Language"]),
    (Denial, {}, "reason", ["x", "x" * 1_000, "one\ntwo"]),
    (KeyName, {}, "name", ["production"]),
    (Rotation, {}, "overlap_seconds", [0, 604_800, 60.0]),
    (WebhookSettings, {"url": URL}, "token", [None, "x", "two words", "~!" * 256]),
    (WebhookSettings, {"url": URL}, "language", [None, "en", "tr", "de", "fr", "es", "pt-BR", "ru", "ja"]),
    (Overlap, {}, "overlap_seconds", [0, 604_800, 60.0]),
    (FailedSince, {}, "failed_since", [0, 1_750_000_000_000, 1e12, (1 << 53) - 1]),
    (Voters, {}, "users", [[], [USER, USER], [USER] * 1_000]),
    (ActualServerCount, {}, "server_count", [0, 10_000_000, 1e6]),
    (Limits, {}, "stats", [None, {"requests": 1, "window_seconds": 1}]),
    (Limits, {}, "voters", [{"requests": 1_000_000, "window_seconds": 2_592_000}]),
]
WRONG: list[tuple[type[Form], Body, str, list[Any]]] = [
    (BOTS.submission, BOT_BODY, "id", ["", "1" * 16, "1" * 21, "0" * 18, "１" * 18, USER + "\n", int(USER)]),
    (BOTS.submission, BOT_BODY, "name", ["", "x" * 101, " ", "two\nlines", "bell\x07", "half \ud800"]),
    (BOTS.submission, BOT_BODY, "short_description", ["x" * 15, "x" * 151, " " * 16, "x" * 16 + "\n"]),
    (BOTS.submission, BOT_BODY, "description", ["x" * 31, "x" * 8_193, "\n" * 32, "\x00" + "x" * 32]),
    (BOTS.submission, BOT_BODY, "categories", [[], ["Chess"], ["Music", "Music"], "Music", ["utility"]]),
    (BOTS.submission, BOT_BODY, "extra_owners", [[str(10**17 + n) for n in range(5)], [USER, USER], None]),
    (BOTS.submission, BOT_BODY, "support_invite", ["", "chat.example", "javascript:alert(1)"]),
    (BOTS.submission, BOT_BODY, "website", ["", "http://bot.example", "bot.example", "javascript:alert(1)"]),
    (BOTS.submission, BOT_BODY, "source", ["http://code.example", "https://"]),
    (BOTS.submission, BOT_BODY, "privacy", ["http://bot.example", "https://ada@bot.example"]),
    (BOTS.submission, BOT_BODY, "tags", [["x" * 33], [""], [" "], list("abcdefghi"), ["Rock", "rock"], "a"]),
    (
        *(BOTS.submission, BOT_BODY, "commands"),
        [["/play"], ["/play:now"], [": Plays"], ["a: b", "a: b"], ["x" * 61 + ": y"], ["a: b\nc"], ["a: "]],
    ),
    (BOTS.submission, BOT_BODY, "commands", [[f"/c{n}: Counts" for n in range(61)], ["/c: " + "x" * 197]]),
    (SERVERS.submission, SERVER_BODY, "invite", ["", "x", "a b", "x" * 65, "https://a.example/b/c", "ä" * 8]),
    (SERVERS.submission, SERVER_BODY, "description", ["x" * 257, "\x1b[31mred"]),
    (SERVERS.submission, SERVER_BODY, "keywords", [["x" * 33], [""], list("abcdef"), ["a", "a"], ["a\nb"]]),
    (SERVERS.submission, SERVER_BODY, "category", ["Utility", "gaming", ""]),
    (Denial, {}, "reason", ["", "x" * 1_001, "\t"]),
    (Rotation, {}, "overlap_seconds", [-1, 604_801, 0.5, True, "1", float("nan")]),
    (WebhookSettings, {"url": URL}, "token", ["", "x" * 513, " padded", "padded ", "é", "a\r\nb", "\x7f"]),
    (WebhookSettings, {"url": URL}, "language", ["EN", "pt-br", "pt", "xx", "", 5]),
    (Overlap, {}, "overlap_seconds", [-1, 604_801, 0.5, True, "1", None, float("nan")]),
    (FailedSince, {}, "failed_since", [-1, 1 << 53, 0.5, True, "1", None, float("inf")]),
    (Voters, {}, "users", [[USER] * 1_001, ["me"]]),
    (ActualServerCount, {}, "server_count", [-1, 10_000_001, 0.5, True, "1", float("inf")]),
    (Limits, {}, "stats", [{}, {"requests": 1}, {"requests": 0, "window_seconds": 1}, 5]),
    (
        Limits,
        {},
        "voters",
        [{"requests": 1_000_001, "window_seconds": 1}, {"requests": 1, "window_seconds": 0}],
    ),
    (Limits, {}, "voters", [{"requests": 1, "window_seconds": 2_592_001}]),
    (Nothing, {}, "anything", [None, 1]),
]


@pytest.mark.parametrize(
    ("form", "body", "name", "value"),
    [(form, body, name, value) for form, body, name, values in GOOD for value in values],
)
def test_the_bounds_of_a_field_are_inside(form: type[Form], body: Body, name: str, value: object) -> None:
    assert as_body(read(form, {**body, name: value}))[name] == value


@pytest.mark.parametrize(
    ("form", "body", "name", "value"),
    [(form, body, name, value) for form, body, name, values in WRONG for value in values],
)
def test_what_breaks_the_rules_of_a_field_is_refused(
    form: type[Form], body: Body, name: str, value: object
) -> None:
    assert {wrong.partition(".")[0] for wrong in wrong_fields(form, {**body, name: value})} == {name}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["Lo Fi", " Ｍusic\u3000Box ", "ÉTÉ", "e\u0301t"], ["lo-fi", "music-box", "été", "ét"]),
        (["\ufb03" * 20], ["ffi" * 10 + "ff"]),
    ],
)
def test_a_tag_is_kept_in_lower_case_without_width_and_with_hyphens_for_spaces(
    given: list[str], kept: list[str]
) -> None:
    read_form = as_body(read(BOTS.submission, {**BOT_BODY, "tags": given}))
    assert read_form["tags"] == kept
    assert as_body(read(BOTS.submission, {**BOT_BODY, "tags": kept}))["tags"] == kept


@pytest.mark.parametrize(
    "given",
    [
        *("https://discord.gg/aBc-12", "discord.gg/aBc-12", "https://discord.com/invite/aBc-12"),
        *("http://discord.gg/invite/aBc-12/", "aBc-12"),
    ],
)
def test_an_invite_is_kept_as_its_code(given: str) -> None:
    assert as_body(read(SERVERS.submission, {**SERVER_BODY, "invite": given}))["invite"] == "aBc-12"


@pytest.mark.parametrize("form", [Rotation, Overlap, Limits, Nothing])
def test_a_form_of_optional_fields_may_be_empty(form: type[Form]) -> None:
    read(form, {})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def filled_in(form: type[Form], body: Body) -> Form | set[str]:
    """Return the form, or the names of the wrong fields."""
    try:
        return read(form, body)
    except Invalid as refusal:
        return {name.partition(".")[0] for name in refusal.faults}


@pytest.mark.parametrize(
    "form",
    [
        BOTS.submission,
        SERVERS.submission,
        Denial,
        Limits,
        Rotation,
        WebhookSettings,
        FailedSince,
        Voters,
        Nothing,
    ],
)
@examples(30)
@given(st.data())
def test_any_json_object_is_read_or_refused(form: type[Form], choice: st.DataObject) -> None:
    names = st.sampled_from([*form.__struct_fields__, "another"])
    body = choice.draw(st.dictionaries(names, json_values, max_size=8))
    filled = filled_in(form, body)
    if isinstance(filled, Form):
        assert as_body(filled).items() >= body.items()
    else:
        missing = {each.name for each in declared_fields(form) if each.is_required} - set(body)
        assert missing <= filled <= missing | set(body)


SCHEMAS: dict[type[Form], jsonschema_rs.Validator] = {
    form: jsonschema_rs.validator_for(form_schema(form))
    for form in (
        BOTS.submission,
        SERVERS.submission,
        Denial,
        KeyName,
        Rotation,
        Overlap,
        FailedSince,
        Limits,
        Voters,
    )
}
WHITE = (
    " \t\n\r\v\x00\x1c\x7f\x85\u00a0\u1680\u180e\u2007\u200b\u2028\u2800\u3000\ufe0f\ufeff"
    "\u061c\u200d\u200e\u202a\u202e\u2066\u2069\U0001d159\U0001d173\U000e0001"
)
tricky_texts = st.text(st.sampled_from(WHITE + "ax1é🤖"), max_size=40)


@pytest.mark.parametrize("form", SCHEMAS)
@examples(100)
@given(st.data())
def test_the_json_schema_of_a_form_says_what_its_validators_say(
    form: type[Form], choice: st.DataObject
) -> None:
    rules = [rule for rule in [*GOOD, *WRONG] if rule[0] is form]
    _, body, name, values = choice.draw(st.sampled_from(rules))
    value = choice.draw(st.sampled_from(values) | tricky_texts | tricky_texts.map(lambda text: [text]))
    body = {**body, name: value}
    if "\ud800" not in str(value):
        assert SCHEMAS[form].is_valid(body) == isinstance(filled_in(form, body), Form)
