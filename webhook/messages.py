"""What is sent for a delivery, and what is kept of the answer. Law: a webhook's secrets are in neither log.

Every attempt of a delivery carries the same id and the same body; the timestamp and with it the signature
are the attempt's own.
"""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import NamedTuple

from msgspec import json

from core.rows import Attempt, Delivery, Listing, Webhook
from grammars.http_urls import UrlRefused, read_url
from outbound.result import READ_BYTES, Fault, HttpResult
from outbound.targets import TargetGuard
from webhook.attempts import AttemptResult
from webhook.chat import chat_limits, chat_message, chat_target
from webhook.payloads import payload
from webhook.signature import signed_headers

EXCERPT_CHARACTERS = 500
SECRETS_KEPT = 4_096  # webhooks whose answers are looked through without compiling their secrets again


class WebhookRequest(NamedTuple):
    url: str
    headers: Mapping[str, str]
    body: bytes


class RequestBuilder:
    def __init__(self, guard: TargetGuard, chat_hosts: Collection[str]) -> None:
        self._guard = guard
        self._chat_hosts = chat_hosts

    def is_chat(self, url: str) -> bool:
        """Whether the URL is a chat platform's webhook. Raises UrlRefused for one that nothing goes to."""
        return chat_target(self._guard.check_url(url), self._chat_hosts) is not None

    def letter(self, delivery: Delivery, listing: Listing, webhook: Webhook, at_ms: int) -> WebhookRequest:
        """Raises UrlRefused for a chat platform's URL whose host is none any more."""
        if webhook.language is not None:
            return WebhookRequest(
                self._chat_url(webhook.url), {}, chat_message(delivery, listing, webhook.language)
            )
        body = payload(delivery)
        headers = signed_headers(delivery.id, at_ms // 1_000, body, _secrets(webhook, at_ms))
        if webhook.token is not None:
            headers["Authorization"] = webhook.token
        return WebhookRequest(webhook.url, headers, body)

    def _chat_url(self, url: str) -> str:
        """In the version of the platform's API that `chat` speaks. Raises UrlRefused."""
        target = read_url(url)
        chat = chat_target(target, self._chat_hosts)
        if chat is None:
            raise UrlRefused("must be on a chat platform's host")
        return f"{target.scheme}://{target.authority}{chat.path}"


def attempt_result(answer: HttpResult, webhook: Webhook, at_ms: int, duration_ms: int) -> AttemptResult:
    """What an answer to the webhook shows."""
    attempt = Attempt(at_ms, duration_ms, answer.status, answer.error, _excerpt(answer.body, webhook))
    charged = answer.fault is Fault.ENDPOINT
    if answer.status is None:
        return AttemptResult(attempt, charged)
    if webhook.language is None:
        return AttemptResult(attempt, charged, gone=answer.status == 410)
    chat = chat_limits(answer.status, answer.headers, answer.body)
    return AttemptResult(
        attempt,
        charged=answer.status != 429,
        gone=chat.gone or answer.status == 410,
        wait_ms=chat.wait_ms,
        everywhere=chat.everywhere,
    )


def _secrets(webhook: Webhook, at_ms: int) -> list[str]:
    """Those that sign, the newest first."""
    secrets = [webhook.secret] if webhook.secret is not None else []
    if webhook.old_secret is not None and at_ms < webhook.old_secret_until_ms:
        secrets.append(webhook.old_secret)
    return secrets


def _excerpt(body: bytes, webhook: Webhook) -> str:
    """The beginning of an answer, harmless to show: some receivers echo what they get."""
    if not body:
        return ""
    text = body.decode("utf-8", "replace")
    secrets = tuple(filter(None, (webhook.token, webhook.secret, webhook.old_secret, webhook.chat_token)))
    if secrets:
        echoes = _echoes(secrets)
        text = echoes.any.sub("[secret]", text)
        if len(body) >= READ_BYTES:  # it may end with the beginning of one
            text = text[: -echoes.longest]
    return "".join(map(_shown, text[:EXCERPT_CHARACTERS]))[:EXCERPT_CHARACTERS]


class _Echoes(NamedTuple):
    """What finds some secrets in an answer, and the length of the longest form of one."""

    any: re.Pattern[str]
    longest: int


@lru_cache(SECRETS_KEPT)
def _echoes(secrets: tuple[str, ...]) -> _Echoes:
    """Secrets as they are, and as JSON has them."""
    forms: set[str] = set()
    for secret in secrets:
        in_json = json.encode(secret)[1:-1].decode()
        forms |= {secret, in_json, secret.replace("/", "\\/"), in_json.replace("/", "\\/")}
    longest_first = sorted(forms, key=len, reverse=True)
    return _Echoes(re.compile("|".join(map(re.escape, longest_first))), len(longest_first[0]))


def _shown(character: str) -> str:
    """Control characters, and those that turn or hide text, as escapes."""
    if character.isprintable() or character in "\t\n\r":
        return character
    return character.encode("unicode_escape").decode()
