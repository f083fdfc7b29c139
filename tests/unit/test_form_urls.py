"""listings/forms.py: which URLs a listing may name."""

from urllib.parse import urlsplit

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyHttpUrl, TypeAdapter, ValidationError

from core.refusals import Invalid
from listings.forms import BotEdit, WebhookSettings, read
from tests.unit.generated import examples
from tests.unit.given import OWNER

BOT = {
    "owner_id": OWNER,
    "name": "Test bot",
    "short_description": "A bot for the tests",
    "description": "A longer description of a bot for the tests",
    "categories": ["Utility"],
}
CHAT_URLS = [
    "https://chat.example/api/webhooks/123/token",
    "https://chat.example/api/v10/webhooks/123/token/",
    "https://chat.example/api/webhooks/123/token?wait=true",
    "http://chat.example:8080/api/webhooks/1/t#top",
]
GOOD_URLS = [
    "http://h",
    "HTTPS://Receiver.example:8443/votes?a=b@c#d",
    "http://receiver.example?x=//user@host",
    "http://192.0.2.1:1/",
    "http://[2001:db8::1]:65535/",
    "http://[::]/",
    "http://[1:2:3:4:5:6:7:8]/",
    "https://receiver.example/api/webhooks",
    "https://receiver.example/api/webhooks/abc/token",
    "https://receiver.example/other/api/webhooks/1/token",
    "https://receiver.example/?/api/webhooks/1/token",
    "http://h/" + "x" * 2_039,
]

SCHEMA = jsonschema_rs.validator_for(WebhookSettings.model_json_schema())
BROWSER = TypeAdapter(AnyHttpUrl)
url_texts = st.text(st.sampled_from("htps:/[]@%?#.-_\\ 1zF\n"), max_size=14).map("http://".__add__)


def reason_against(url: str) -> str | None:
    """Why the URL is refused as a webhook's, or None."""
    try:
        form = read(WebhookSettings, {"url": url})
    except Invalid as refusal:
        (reason,) = refusal.fields.values()
        return reason
    assert form.url == url, "it is taken as it came"
    return None


@pytest.mark.parametrize("url", GOOD_URLS)
def test_a_url_with_a_host_is_taken_as_it_came(url: str) -> None:
    assert reason_against(url) is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://h/" + "x" * 2_040, "at most 2048 characters"),
        ("http://reciéver.example/", "ASCII"),
        ("http://receiver.example/a b", "spaces"),
        ("http://receiver.example\\@internal/", "backslashes"),
        ("http://receiver.example/\r\nhost: x", "ASCII"),
        ("\x00http://receiver.example/", "ASCII"),
        ("http://receiver.example/\x7f", "ASCII"),
        ("http://user@receiver.example/", "user name"),
        ("http://user:password@receiver.example/", "user name"),
        ("receiver.example/votes", "host"),
        ("//receiver.example/votes", "host"),
        ("ftp://receiver.example/", "host"),
        ("file:///etc/passwd", "host"),
        ("javascript://receiver.example/%0aalert(1)", "host"),
        ("http:///votes", "host"),
        ("http://:80/", "host"),
        ("http://?", "host"),
        ("", "host"),
        ("http://receiver.example:0/", "port"),
        ("http://receiver.example:65536/", "port"),
        ("http://receiver.example:080/", "port"),
        ("http://receiver.example:http/", "port"),
        ("http://receiver.example:80:90/", "port"),
        ("http://[2001:db8::1/", "host"),
        ("http://[1:2:3:4:5:6:7]/", "host"),
        ("http://[1:2:3:4:5:6:7:8:9]/", "host"),
        ("http://[1::2::3]/", "host"),
        ("http://[2001:db8::1%25eth0]/", "host"),
        ("http://[192.0.2.1]/", "host"),
    ],
)
def test_any_other_url_is_refused_with_the_reason(url: str, reason: str) -> None:
    assert reason in (reason_against(url) or "it is taken")


@pytest.mark.parametrize(
    "url", ["http://[::1]receiver.example/", "http://internal%2ereceiver.example/", "http://h<script>/"]
)
def test_a_url_that_two_parsers_read_in_two_ways_is_refused(url: str) -> None:
    """The one takes the brackets for the host or decodes it, the other takes it as it is written."""
    assert reason_against(url) is not None


@pytest.mark.parametrize("url", CHAT_URLS)
def test_a_chat_platforms_webhook_is_not_supported_but_its_invite_is(url: str) -> None:
    assert "chat-platform" in (reason_against(url) or "it is taken")
    assert read(BotEdit, {**BOT, "support_invite": url}).support_invite == url


@examples(300)
@given(url_texts | st.text())
def test_any_text_is_a_url_or_is_refused(text: str) -> None:
    reason_against(text)


@examples(300)
@given(st.sampled_from([*GOOD_URLS, *CHAT_URLS]) | url_texts)
def test_the_json_schema_says_which_urls_are_taken(url: str) -> None:
    assert SCHEMA.is_valid({"url": url}) == (reason_against(url) is None)


@examples(500)
@given(st.sampled_from(GOOD_URLS) | url_texts)
def test_another_parser_goes_to_the_same_place(url: str) -> None:
    if reason_against(url) is not None:
        return
    parts = urlsplit(url)
    try:
        browser = BROWSER.validate_python(url)
    except ValidationError:
        return  # it goes nowhere at all
    assert browser.port == (parts.port or {"http": 80, "https": 443}[parts.scheme])
    if any(letter.isalpha() for letter in parts.hostname or ""):  # numbers are addresses in short
        assert (browser.host or "").strip("[]") == parts.hostname
