"""webhook/messages.py: the command sends the same request, without its secrets."""

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.rows import Attempt, Delivery, Listing, Reviewed, Webhook
from outbound.targets import TargetGuard
from tests.support.gateways import WAIT_SECONDS
from tests.support.programs import installed
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OLD_SECRET, OWNER, SECRET, USER
from tests.support.webhook_receiver import Receiver
from webhook.messages import SIGNATURE, TOKEN, RequestBuilder, curl_command

AGENT = "Votegate/1.0"
CHAT_URL = "https://chat.example/api/webhooks/123/token-of_the-channel"
REQUESTS = RequestBuilder(TargetGuard(allow_private=True, allow_http=True), {"chat.example"})
ROW = Delivery("the-id", BOT_REF, USER, test=False, queued_ms=NOW_MS, next_attempt_ms=None)
LISTING = Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS))
PLAIN = Webhook("https://receiver.example/votes", NOW_MS, "a'token", secret=SECRET, old_secret=OLD_SECRET)
CHAT = Webhook(CHAT_URL, NOW_MS, language="de")


def said(command: str) -> tuple[str, dict[str, str], str]:
    """Return the address, the headers and the body, as a shell reads them in the command."""
    assert "\x00" not in command
    program, *arguments = shlex.split(command.replace(" \\\n", " "))
    assert program == "curl"
    headers = [arguments[index + 1] for index, each in enumerate(arguments) if each == "-H"]
    body = arguments[arguments.index("--data-raw") + 1]
    return arguments[-1], dict(each.split(": ", 1) for each in headers), body


@pytest.mark.parametrize("test", [False, True])
def test_it_says_the_address_the_headers_and_the_body_that_were_sent(test: bool) -> None:
    attempted = replace(ROW, test=test, attempts=(Attempt(NOW_MS + 5_000, 1, 500, "http_500", ""),))
    url, headers, body = said(curl_command(attempted, LISTING, PLAIN, AGENT))
    sent = REQUESTS.request(attempted, LISTING, PLAIN, NOW_MS + 5_000)
    assert (url, body.encode()) == (sent.url, sent.body)
    own = {"Content-Type": "application/json", "User-Agent": AGENT}
    assert headers == {**own, **sent.headers, "webhook-signature": SIGNATURE, "Authorization": TOKEN}


def test_what_is_not_sent_has_no_placeholder() -> None:
    _, headers, _ = said(curl_command(ROW, LISTING, Webhook(PLAIN.url, NOW_MS), AGENT))
    assert headers.keys() == {"Content-Type", "User-Agent", "webhook-id", "webhook-timestamp"}


def test_a_message_to_a_chat_platform_has_no_headers_of_ours() -> None:
    url, headers, body = said(curl_command(ROW, LISTING, CHAT, AGENT))
    assert url == "https://chat.example/api/webhooks/123/..."
    assert headers.keys() == {"Content-Type", "User-Agent"}
    assert body.encode() == REQUESTS.request(ROW, LISTING, CHAT, NOW_MS).body


@pytest.mark.parametrize("webhook", [PLAIN, CHAT], ids=["plain", "chat"])
def test_no_secret_is_in_it(webhook: Webhook) -> None:
    command = curl_command(ROW, LISTING, webhook, AGENT)
    for secret in ("a'token", SECRET, OLD_SECRET, "token-of_the-channel"):
        assert secret not in command
        assert shlex.quote(secret) not in command


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=100))
def test_a_name_of_a_listing_is_no_part_of_the_command(name: str) -> None:
    named = replace(LISTING, profile=replace(BOT_PROFILE, name=name))
    _, _, body = said(curl_command(ROW, named, CHAT, AGENT))
    assert body.encode() == REQUESTS.request(ROW, named, CHAT, NOW_MS).body


def test_a_shell_sends_it(receiver: Receiver) -> None:
    webhook = replace(PLAIN, url=f"{receiver.url}/votes?of=[1-2]{{a,b}}&x='y'")
    command = curl_command(ROW, LISTING, webhook, AGENT)
    installed("curl")
    subprocess.run(["sh", "-c", f"{command} --noproxy '*'"], check=True, timeout=WAIT_SECONDS)
    (received,) = receiver.received
    sent = REQUESTS.request(ROW, LISTING, webhook, NOW_MS)
    assert (received.method, received.path, received.body) == (
        "POST",
        sent.url.removeprefix(receiver.url),
        sent.body,
    )
    assert received.headers["authorization"] == TOKEN
