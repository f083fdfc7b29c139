"""web/api_texts.py: what the API says to owners is known again, with its values."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.refusals import (
    Conflict,
    ConflictReason,
    Invalid,
    NotFound,
    Quarantined,
    SearchUnavailable,
    Thing,
    Unavailable,
    VotedTooSoon,
)
from handlers import reply
from languages.texts import Text
from listings.forms import BotSubmission, Form, KeyName, Strike, WebhookSettings, read
from tests.support.english import english
from tests.support.examples import examples
from web.api_texts import api_text
from web.error_pages import error_text

OF_OPERATORS = {"moderator_by_settings"}
"""Reasons that no page for people can come to."""
FACTS: dict[str, str | int] = {"review": "approved", "most": 5}
REFUSED = [
    *(NotFound(thing) for thing in get_args(Thing)),
    *(Conflict(reason, **FACTS) for reason in get_args(ConflictReason) if reason not in OF_OPERATORS),
    Conflict("not_in_review", review="denied"),
    *(VotedTooSoon(1, 1_000), Quarantined("vote", "spam", None), Invalid({"a": "b"}), Unavailable("full")),
    *(reply.TooManyRequests(), reply.FromElsewhere(), reply.SignInRequired(), reply.NotPermitted()),
    *(reply.UnreadableForm(), reply.BodyTooLarge(65_536), SearchUnavailable(), reply.NotReady("it stops")),
]


@pytest.mark.parametrize("refused", REFUSED, ids=str)
def test_every_refusal_of_a_page_is_a_text(refused: Exception) -> None:
    answer = reply.reply_to(refused)
    said = error_text(answer)
    assert isinstance(said, Text)
    assert f'"error":"{english(said)}"'.encode() in answer.body


@pytest.mark.parametrize(
    "answer",
    [reply.bug("id-1"), reply.no_such_path(), reply.method_not_allowed(["GET", "POST"], "GET, POST")],
    ids=lambda answer: str(answer.status),
)
def test_every_answer_without_a_view_is_a_text(answer: reply.Reply) -> None:
    assert isinstance(error_text(answer), Text)


BOT = {
    **{"id": "1" * 18, "owner_id": "2" * 18, "name": "A", "short_description": "b" * 16},
    **{"description": "c" * 32, "categories": ["Music"]},
}
PLAINLY = {"must be a snowflake: 17 to 20 digits": "must be 17 to 20 digits"}
"""What a page says in other words."""
URLS = [
    *("votes.example", "http://é", "http://a@b", "http://[", "http://a:0", "http://[::1%25a]", "http://[x]"),
    *(
        "http://a..b",
        "http://-a",
        "http://1.2.3",
        "http://?",
        f"http://{'a' * 64}",
        "http://a/" + "b" * 3_000,
    ),
    *(f"http://{'a.' * 130}b", "http://a!b", "http:///"),
]


@pytest.mark.parametrize(
    ("form", "body"),
    [
        (BotSubmission, {**BOT, "id": "1"}),
        (BotSubmission, {**BOT, "name": ""}),
        *(
            (BotSubmission, {**BOT, "name": name})
            for name in ("a\nb", "a\x00b", "a\u202eb", "\u2060", "a" * 101)
        ),
        *((BotSubmission, {**BOT, "short_description": text}) for text in ("short", "a" * 151)),
        (BotSubmission, {**BOT, "description": "short"}),
        *((BotSubmission, {**BOT, "categories": each}) for each in ([], ["Cooking"], ["Music", "Music"])),
        *((BotSubmission, {**BOT, "extra_owners": each}) for each in (["x"], ["2" * 18], ["3" * 18] * 9)),
        (BotSubmission, {**BOT, "support_invite": "mail"}),
        (KeyName, {"name": ""}),
        *((Strike, {"reason": "Why", **how}) for how in ({}, {"users": ["3" * 18], "until": 5})),
        *((WebhookSettings, {"url": url}) for url in URLS),
        *((WebhookSettings, {"url": "http://a", "token": token}) for token in ("é", "a" * 600)),
        (WebhookSettings, {"url": "http://a", "language": "tlh"}),
    ],
)
def test_every_reason_of_a_form_is_a_text(form: type[Form], body: dict[str, object]) -> None:
    with pytest.raises(Invalid) as refused:
        read(form, body)
    for reason in refused.value.fields.values():
        said = api_text(reason)
        assert isinstance(said, Text), reason
        assert english(said) == PLAINLY.get(reason, reason)


@examples(200)
@given(st.text())
def test_anything_else_is_shown_as_it_is(words: str) -> None:
    assert english(api_text(words)) == words


def test_a_reason_in_a_sentence_is_said_too() -> None:
    said = api_text("Nothing can be written right now: the disk does not keep up.")
    assert isinstance(said, Text)
    assert said.values == {"reason": Text("the disk does not keep up")}
