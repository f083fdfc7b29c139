"""listings/forms.py: the URLs that a listing may name."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forms.reading import read
from kinds.bots import BOTS
from languages.refusals import Invalid
from languages.said import in_words
from listings.forms import WebhookSettings
from tests.support.examples import examples
from tests.support.form_bodies import as_body, form_schema
from tests.support.sample_rows import OWNER

BOT = {
    "owner_id": OWNER,
    "name": "Test bot",
    "short_description": "A bot for the tests",
    "description": "A longer description of a bot for the tests",
    "categories": ["Utility"],
}
GOOD_URLS = [
    "http://h",
    "HTTPS://Receiver.example:8443/votes?a=b@c#d",
    "http://receiver.example?x=//user@host",
    "http://192.0.2.1:1/",
    "http://[2001:db8::1]:65535/",
    "http://[::ffff:192.0.2.1]/",
    "https://chat.example/api/v10/webhooks/123/token/?wait=true",
    "http://h/" + "x" * 2_039,
]

INVITE_SCHEMA = jsonschema_rs.validator_for(form_schema(BOTS.edit))
WEBHOOK_SCHEMA = jsonschema_rs.validator_for(form_schema(WebhookSettings))
url_texts = st.text(st.sampled_from("htps:/[]@%?#.-_\\ 1zF\n"), max_size=14).map("http://".__add__)


def bot(url: str) -> dict[str, Any]:
    return {**BOT, "support_invite": url}


def reason_against(url: str) -> str | None:
    """Return the faults of the URL as an invite and as a webhook's; None where it is accepted."""
    try:
        invite = as_body(read(BOTS.edit, bot(url)))["support_invite"]
    except Invalid as refusal:
        with pytest.raises(Invalid) as same:
            read(WebhookSettings, {"url": url})
        (fault,) = refusal.faults.values()
        assert same.value.faults == {"url": fault}
        return in_words(*fault)
    assert invite == read(WebhookSettings, {"url": url}).url == url, "it is taken as it came"
    return None


@pytest.mark.parametrize("url", GOOD_URLS)
def test_a_url_with_a_host_is_taken_as_it_came(url: str) -> None:
    assert reason_against(url) is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://h/" + "x" * 2_040, "at most 2048 characters"),
        ("http://reciéver.example/", "must be plain ASCII"),
        ("http://user@receiver.example/", "must not carry a user name"),
        ("ftp://receiver.example/", "must be an http or https URL"),
        ("http://receiver.example:0/", "must have a port from 1 to 65535"),
        ("http://127.1/", "must write the IPv4 address of its host as four numbers"),
    ],
)
def test_any_other_url_is_refused_with_the_reason_of_the_reading(url: str, reason: str) -> None:
    assert reason in (reason_against(url) or "it is taken")


@examples(300)
@given(url_texts | st.text())
def test_any_text_is_a_url_or_is_refused(text: str) -> None:
    reason_against(text)


@examples(300)
@given(st.sampled_from(GOOD_URLS) | url_texts)
def test_the_json_schema_says_which_urls_are_taken(url: str) -> None:
    taken = reason_against(url) is None
    assert INVITE_SCHEMA.is_valid(bot(url)) == taken
    assert WEBHOOK_SCHEMA.is_valid({"url": url}) == taken
