"""webhook/messages.py: the request of a delivery, and the part of the answer that is kept."""

import json

import pytest
from msgspec.structs import replace

from core.rows import Attempt, Delivery, Listing, Reviewed, Webhook
from grammars.http_urls import UrlRefused
from outbound.result import READ_BYTES, AtFault, HttpResult
from outbound.targets import TargetGuard
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OLD_SECRET, OWNER, SECRET, USER
from webhook.messages import EXCERPT_CHARACTERS, RequestBuilder, attempt_result, signed_headers

URL = "https://receiver.example/votes"
CHAT_URL = "https://chat.example/api/webhooks/123/token-of_the-channel?wait=true"
CHAT_TOKEN = "token-of_the-channel"
ROW = Delivery("the-id", BOT_REF, USER, test=False, queued_ms=NOW_MS, next_attempt_ms=NOW_MS)
LISTING = Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS))
BODY = json.dumps(
    {"bot": BOT_REF.partition("/")[2], "user": USER, "test": False}, separators=(",", ":")
).encode()
PLAIN = Webhook(URL, NOW_MS, "a token", secret=SECRET)
ROTATED = replace(PLAIN, old_secret=OLD_SECRET, old_secret_until_ms=NOW_MS + 1_000)
CHAT = Webhook(CHAT_URL, NOW_MS, language="de")
LETTERS = RequestBuilder(TargetGuard(allow_private=False, allow_http=False), {"chat.example"})


def signed(at_ms: int, *secrets: str) -> dict[str, str]:
    return signed_headers("the-id", at_ms // 1_000, BODY, secrets)


def kept(body: bytes, webhook: Webhook = PLAIN) -> str:
    return attempt_result(HttpResult(200, None, body=body), webhook, NOW_MS, 5).attempt.excerpt


def test_a_plain_webhook_gets_the_payload_with_its_token_and_a_signature() -> None:
    letter = LETTERS.request(ROW, LISTING, PLAIN, NOW_MS + 7)
    assert (letter.url, letter.body) == (URL, BODY)
    assert letter.headers == {**signed(NOW_MS, SECRET), "Authorization": "a token"}


def test_without_a_token_and_a_secret_there_is_neither_authorization_nor_signature() -> None:
    letter = LETTERS.request(ROW, LISTING, Webhook(URL, NOW_MS), NOW_MS)
    assert letter.headers == {"webhook-id": "the-id", "webhook-timestamp": str(NOW_MS // 1_000)}


def test_each_attempt_has_a_timestamp_of_its_own_under_the_same_id_with_the_same_body() -> None:
    first, second = (LETTERS.request(ROW, LISTING, PLAIN, NOW_MS + wait_ms) for wait_ms in (0, 5_000))
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert second.headers == {**signed(NOW_MS + 5_000, SECRET), "Authorization": "a token"}


@pytest.mark.parametrize(
    ("at_ms", "secrets"), [(NOW_MS + 999, [SECRET, OLD_SECRET]), (NOW_MS + 1_000, [SECRET])]
)
def test_both_secrets_sign_during_the_overlap_the_newer_first_and_one_after_it(
    at_ms: int, secrets: list[str]
) -> None:
    headers = LETTERS.request(ROW, LISTING, ROTATED, at_ms).headers
    assert headers["webhook-signature"] == signed(at_ms, *secrets)["webhook-signature"]
    assert len(headers["webhook-signature"].split()) == len(secrets)


def test_a_chat_platform_gets_a_message_in_its_language_and_no_header_of_ours() -> None:
    letter = LETTERS.request(ROW, LISTING, replace(CHAT, token="t", secret=SECRET), NOW_MS)
    assert letter.url == f"https://chat.example/api/v10/webhooks/123/{CHAT_TOKEN}?wait=true"
    assert letter.headers == {}
    english = LETTERS.request(ROW, LISTING, replace(CHAT, language="en"), NOW_MS)
    assert f"<@{USER}>".encode() in letter.body
    assert letter.body != english.body


def test_a_chat_webhook_whose_host_is_no_longer_one_gets_nothing() -> None:
    letters = RequestBuilder(TargetGuard(allow_private=False, allow_http=False), set())
    with pytest.raises(UrlRefused):
        letters.request(ROW, LISTING, CHAT, NOW_MS)


def test_a_url_is_a_chat_platform_s_by_its_host() -> None:
    assert LETTERS.is_chat(CHAT_URL)
    assert not LETTERS.is_chat(URL)


@pytest.mark.parametrize(
    "url", ["https://10.0.0.1/", "http://receiver.example/", "https://chat.example/other"]
)
def test_a_url_that_nothing_may_go_to_is_refused_by_the_guard_or_the_platform(url: str) -> None:
    with pytest.raises(UrlRefused):
        LETTERS.is_chat(url)


def test_an_attempt_tells_the_answer_and_how_long_it_took() -> None:
    found = attempt_result(HttpResult(500, "http_500", body=b"oops"), PLAIN, NOW_MS, 5)
    assert found.attempt == Attempt(NOW_MS, 5, 500, "http_500", "oops")
    assert (found.charged, found.gone, found.wait_ms, found.everywhere) == (True, False, 0, False)


@pytest.mark.parametrize("webhook", [PLAIN, CHAT])
@pytest.mark.parametrize("fault", AtFault)
def test_only_the_endpoint_s_failures_are_charged_to_it(webhook: Webhook, fault: AtFault) -> None:
    found = attempt_result(HttpResult(None, "timeout", fault), webhook, NOW_MS, 5)
    assert found.charged == (fault is AtFault.ENDPOINT)


@pytest.mark.parametrize("webhook", [PLAIN, CHAT])
def test_410_says_that_an_endpoint_is_gone(webhook: Webhook) -> None:
    assert attempt_result(HttpResult(410, "http_410"), webhook, NOW_MS, 5).gone


@pytest.mark.parametrize(("webhook", "gone"), [(PLAIN, False), (CHAT, True)])
def test_a_chat_platform_says_in_its_own_words_that_a_webhook_is_gone(webhook: Webhook, gone: bool) -> None:
    unknown = HttpResult(404, "http_404", body=b'{"code": 10015}')
    assert attempt_result(unknown, webhook, NOW_MS, 5).gone is gone
    assert not attempt_result(HttpResult(404, "http_404"), webhook, NOW_MS, 5).gone


@pytest.mark.parametrize(("webhook", "charged", "wait_ms"), [(PLAIN, True, 0), (CHAT, False, 1_500)])
def test_not_so_fast_is_a_failure_of_a_plain_webhook_and_a_wish_of_a_chat_platform(
    webhook: Webhook, charged: bool, wait_ms: int
) -> None:
    headers = {"retry-after": "1.5", "x-ratelimit-global": "true"}
    found = attempt_result(HttpResult(429, "http_429", headers=headers), webhook, NOW_MS, 5)
    assert (found.charged, found.wait_ms, found.everywhere) == (charged, wait_ms, not charged)


# -- excerpts ------------------------------------------------------------------------------------------


def test_an_excerpt_is_the_first_500_characters() -> None:
    text = "ü" * (EXCERPT_CHARACTERS + 1)
    assert EXCERPT_CHARACTERS == 500
    assert kept(text.encode()) == "ü" * 500


@pytest.mark.parametrize("secret", ["a token", SECRET, OLD_SECRET])
def test_a_secret_that_a_receiver_echoes_is_not_kept(secret: str) -> None:
    assert kept(f"got: {secret}, {secret}!".encode(), ROTATED) == "got: [secret], [secret]!"


def test_the_token_of_a_chat_webhook_is_not_kept() -> None:
    assert kept(f"no webhook {CHAT_TOKEN} here".encode(), CHAT) == "no webhook [secret] here"


@pytest.mark.parametrize("start", [EXCERPT_CHARACTERS - 3, EXCERPT_CHARACTERS])
def test_a_secret_is_replaced_before_the_text_is_cut(start: int) -> None:
    assert SECRET[:3] not in kept(b"." * start + SECRET.encode())


def test_a_secret_that_the_end_of_the_reading_has_cut_is_not_kept() -> None:
    webhook = replace(PLAIN, token="t" * 511 + "!")
    echoed = b"echo" + ("t" * 511 + "!").encode() * 32
    text = kept(echoed[:READ_BYTES], webhook)
    assert text.startswith("echo[secret]")
    assert "ttt" not in text


def test_control_characters_and_those_that_turn_or_hide_text_are_shown_as_escapes() -> None:
    assert kept(b"a\x00b\x1b[31m\x7f\tc\r\nd") == "a\\x00b\\x1b[31m\\x7f\tc\r\nd"
    assert kept("x\u202ey\u2066z\u200b\ufeff\x85".encode()) == "x\\u202ey\\u2066z\\u200b\\ufeff\\x85"


def test_what_is_no_text_is_kept_loosely() -> None:
    assert kept(b"\xff\xfeabc") == "��abc"
