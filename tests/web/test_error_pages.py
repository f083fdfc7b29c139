"""Every error is a page that says what happened, why, and what to do."""

import pytest

from core.failures import Unavailable
from forms.fields import Form
from forms.reading import read
from handlers.reply import Reply, refused, reply_to
from kinds.bots import BOTS
from languages.refusals import Invalid
from languages.said import Fault
from languages.texts import Text
from listings.forms import KeyName, Strike, WebhookSettings
from operators.operator_site import ERROR_TEXTS
from tests.support.english import english
from web.error_pages import by_field, error_page, field_texts

ERRORS = [
    *(refused("operator_token_required"), refused("from_elsewhere"), refused("no_such_listing")),
    *(refused("votes_need_approval"), reply_to(Unavailable("full")), refused("not_ready", reason="it stops")),
    refused("bug", number="id-of-the-request"),
]


@pytest.mark.parametrize("answer", ERRORS, ids=lambda answer: str(answer.status))
def test_an_error_keeps_its_status_and_its_reason(answer: Reply) -> None:
    page = error_page(answer, ERROR_TEXTS, may_sign_in=False)
    assert page.status == answer.status
    assert english(page.values["why"]).encode() in answer.body
    assert all(page.values[name] for name in ("what", "why", "what_to_do"))


def test_a_bug_names_its_request() -> None:
    page = error_page(refused("bug", number="id-of-the-request"), ERROR_TEXTS, may_sign_in=False)
    assert "id-of-the-request" in english(page.values["why"])


def test_a_status_of_no_text_of_its_own_has_the_text_of_its_class() -> None:
    assert english(ERROR_TEXTS.of(418).title) == "The request was not accepted"
    assert english(ERROR_TEXTS.of(599).title) == "Something went wrong here"


def test_an_address_that_is_not_understood_is_not_called_a_form() -> None:
    answer = reply_to(Invalid({"sort": Fault("not_one_of", {"choices": "month"})}))
    form, address = (
        error_page(answer, ERROR_TEXTS, may_sign_in=False, is_of_form=each) for each in (True, False)
    )
    assert english(form.values["what"]) == "The form was not accepted"
    assert english(address.values["what"]) == "The request was not accepted"


BOT = {
    **{"id": "1" * 18, "owner_id": "2" * 18, "name": "A", "short_description": "b" * 16},
    **{"description": "c" * 32, "categories": ["Music"]},
}
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
        (BOTS.submission, {**BOT, "id": "1"}),
        (BOTS.submission, {**BOT, "name": ""}),
        *(
            (BOTS.submission, {**BOT, "name": name})
            for name in ("a\nb", "a\x00b", "a\u202eb", "\u2060", "a" * 101)
        ),
        *((BOTS.submission, {**BOT, "short_description": text}) for text in ("short", "a" * 151)),
        (BOTS.submission, {**BOT, "description": "short"}),
        *((BOTS.submission, {**BOT, "categories": each}) for each in ([], ["Cooking"], ["Music", "Music"])),
        *((BOTS.submission, {**BOT, "extra_owners": each}) for each in (["x"], ["2" * 18], ["3" * 18] * 9)),
        (BOTS.submission, {**BOT, "support_invite": "mail"}),
        (KeyName, {"name": ""}),
        *((Strike, {"reason": "Why", **how}) for how in ({}, {"users": ["3" * 18], "until": 5})),
        *((WebhookSettings, {"url": url}) for url in URLS),
        *((WebhookSettings, {"url": "http://a", "token": token}) for token in ("é", "a" * 600)),
        (WebhookSettings, {"url": "http://a", "language": "tlh"}),
    ],
)
def test_every_fault_of_a_form_is_translated(form: type[Form], body: dict[str, object]) -> None:
    with pytest.raises(Invalid) as refused:
        read(form, body)
    for text in field_texts(refused.value).values():
        assert isinstance(text, Text), text


def test_what_is_wrong_in_a_list_stands_at_the_list_and_names_the_entry() -> None:
    errors = by_field({"name": "too long", "keywords.1": "is blank", "keywords.2": "is long"})
    assert {name: english(reason) for name, reason in errors.items()} == {
        "name": "too long",
        "keywords": "entry 2 is blank",
    }
