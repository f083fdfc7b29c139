"""The requests of deliveries, and the part of a response that is kept. Invariant: the kept part shows no
secret of a webhook.

All attempts of a delivery have the same id and the same body. Each has its own timestamp, and so its own
signature. The body of a vote or a test has exactly the fields of the contract. The bodies of other events
have a `type` as well.

Signatures follow the Standard Webhooks specification (github.com/standard-webhooks/standard-webhooks), in its
symmetric scheme: `v1,` and the base64 of HMAC-SHA256 over `<id>.<timestamp>.<body>`. The key is the decoded
base64 part of the secret.
"""

import hmac
import re
import shlex
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec import json

from core.rows import Attempt, Delivery, Listing, Webhook
from grammars.http_urls import UrlRefused, read_url
from kinds.registry import kind_of
from outbound.result import READ_BYTES, AtFault, HttpResult
from outbound.targets import TargetGuard
from webhook.attempts import AttemptResult
from webhook.chat import chat_limits, chat_message, chat_target

EXCERPT_CHARACTERS = 500
SECRETS_KEPT = 4_096  # webhooks whose secrets stay compiled as a pattern


class WebhookRequest(NamedTuple):
    """A request to an endpoint, as `outbound/` sends it with POST."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class RequestBuilder:
    """Builds the requests of deliveries."""

    def __init__(self, guard: TargetGuard, chat_hosts: Collection[str]) -> None:
        self._guard = guard
        self._chat_hosts = chat_hosts

    def is_chat(self, url: str) -> bool:
        """Return True for a URL of a chat webhook. Raises UrlRefused for a URL that the guard refuses."""
        return chat_target(self._guard.check_url(url), self._chat_hosts) is not None

    def request(self, delivery: Delivery, listing: Listing, webhook: Webhook, at_ms: int) -> WebhookRequest:
        """Build the request of an attempt. Raises UrlRefused if a chat webhook's host is no chat platform
        now."""
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
        """Return the URL in the API version that `chat` supports. Raises UrlRefused."""
        target = read_url(url)
        chat = chat_target(target, self._chat_hosts)
        if chat is None:
            raise UrlRefused("not_chat_host")
        return f"{target.scheme}://{target.authority}{chat.path}"


def attempt_result(result: HttpResult, webhook: Webhook, at_ms: int, duration_ms: int) -> AttemptResult:
    """Return the meaning of a result for the attempt, the delivery and its endpoint."""
    attempt = Attempt(at_ms, duration_ms, result.status, result.error, _excerpt(result.body, webhook))
    charged = result.fault is AtFault.ENDPOINT
    if result.status is None:
        return AttemptResult(attempt, charged)
    if webhook.language is None:
        return AttemptResult(attempt, charged, gone=result.status == 410)
    chat = chat_limits(result.status, result.headers, result.body)
    return AttemptResult(
        attempt,
        charged=result.status != 429,
        gone=chat.gone or result.status == 410,
        wait_ms=chat.wait_ms,
        everywhere=chat.everywhere,
    )


def _secrets(webhook: Webhook, at_ms: int) -> list[str]:
    """Return the secrets that sign now, newest first."""
    secrets = [webhook.secret] if webhook.secret is not None else []
    if webhook.old_secret is not None and at_ms < webhook.old_secret_until_ms:
        secrets.append(webhook.old_secret)
    return secrets


def _excerpt(body: bytes, webhook: Webhook) -> str:
    """Return the beginning of a response, without secrets: some receivers echo the request."""
    if not body:
        return ""
    text = body.decode("utf-8", "replace")
    secrets = tuple(filter(None, (webhook.token, webhook.secret, webhook.old_secret, webhook.chat_token)))
    if secrets:
        echoes = _echoes(secrets)
        text = echoes.any.sub("[secret]", text)
        if len(body) >= READ_BYTES:  # a secret may be cut off at its end
            text = text[: -echoes.longest]
    return "".join(map(_shown, text[:EXCERPT_CHARACTERS]))[:EXCERPT_CHARACTERS]


class _Echoes(NamedTuple):
    """A pattern for every form of some secrets, and the length of the longest form."""

    any: re.Pattern[str]
    longest: int


@lru_cache(SECRETS_KEPT)
def _echoes(secrets: tuple[str, ...]) -> _Echoes:
    """Compile the pattern for secrets as they are and as JSON strings contain them."""
    forms: set[str] = set()
    for secret in secrets:
        in_json = json.encode(secret)[1:-1].decode()
        forms |= {secret, in_json, secret.replace("/", "\\/"), in_json.replace("/", "\\/")}
    longest_first = sorted(forms, key=len, reverse=True)
    return _Echoes(re.compile("|".join(map(re.escape, longest_first))), len(longest_first[0]))


def _shown(character: str) -> str:
    """Escape a control character, or one that hides text or changes its direction."""
    if character.isprintable() or character in "\t\n\r":
        return character
    return character.encode("unicode_escape").decode()


# -- JSON bodies ---------------------------------------------------------------------------------------------

_encode = json.Encoder().encode


def payload(delivery: Delivery) -> bytes:
    """Return the JSON body of a bot vote, a server vote, a test, or another event of a listing."""
    if delivery.test:
        return _encode({"user": delivery.user, "test": True})
    part = kind_of(delivery.ref).webhook
    body: dict[str, Any] = {part.id_name: delivery.ref.partition("/")[2]} if part is not None else {}
    if delivery.kind is None:
        return _encode({**body, "user": delivery.user, "test": False})
    body = {"type": delivery.kind, **body}
    if delivery.user:
        body["user"] = delivery.user
    if delivery.stars:
        body["stars"] = delivery.stars
    body["at"] = delivery.queued_ms
    if delivery.reason is not None:
        body["reason"] = delivery.reason
    return _encode(body)


# -- signatures ----------------------------------------------------------------------------------------------

PREFIX = "whsec_"
SECRET_BYTES = 32
KEYS_KEPT = 4_096


def new_secret(random: Callable[[int], bytes]) -> str:
    """Return `whsec_` and the base64 of 32 bytes. `random(n)` gives n unpredictable bytes."""
    return PREFIX + b64encode(random(SECRET_BYTES)).decode()


def signed_headers(
    delivery_id: str, timestamp_seconds: int, body: bytes, secrets: Sequence[str]
) -> dict[str, str]:
    """Return the headers of one attempt. All attempts share the id; each has its own timestamp.

    There is one signature for each secret, in the given order, newest first: a receiver may hold any of them.
    Without secrets there is no signature header. The id contains no dot, so that the content is unambiguous.
    """
    headers = {"webhook-id": delivery_id, "webhook-timestamp": str(timestamp_seconds)}
    content = f"{delivery_id}.{timestamp_seconds}.".encode() + body
    if secrets:
        headers["webhook-signature"] = " ".join(_signature(secret, content) for secret in secrets)
    return headers


def _signature(secret: str, content: bytes) -> str:
    return "v1," + b64encode(hmac.digest(_key(secret), content, "sha256")).decode()


@lru_cache(KEYS_KEPT)
def _key(secret: str) -> bytes:
    return b64decode(secret.removeprefix(PREFIX), validate=True)


# -- a request as a command for curl -------------------------------------------------------------------------

TOKEN, SIGNATURE = "<your token>", "v1,<signature>"


def curl_command(delivery: Delivery, listing: Listing, webhook: Webhook, user_agent: str) -> str:
    """Return the command, with an option on each line. Its time is that of the last attempt.

    Args:
        user_agent: the name under which requests are sent.
    """
    headers = {"Content-Type": "application/json", "User-Agent": user_agent}
    if webhook.language is not None:
        body = chat_message(delivery, listing, webhook.language)
    else:
        body = payload(delivery)
        at_ms = delivery.attempts[-1].at_ms if delivery.attempts else delivery.since_ms
        headers |= signed_headers(delivery.id, at_ms // 1_000, body, ())
        if webhook.secret is not None:
            headers["webhook-signature"] = SIGNATURE
        if webhook.token is not None:
            headers["Authorization"] = TOKEN
    given = [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()]
    # Brackets and braces in the address are no pattern, and a body that begins with @ is no file.
    lines = ["curl -i --globoff", *given, f"--data-raw {shlex.quote(body.decode())}"]
    return " \\\n  ".join([*lines, shlex.quote(webhook.shown_url)])
