"""Chat-platform webhooks, in the form of Discord's. Invariant: texts of owners are shown as text, and never
as markup.

The URL of a chat webhook is a password: everybody who has the token, its last part, may write to the channel.
No response can make this module raise. The import compiles the catalogs of all languages, which are small, so
that no message waits for one. A catalog that cannot be read stops the start.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from gettext import NullTranslations
from typing import NamedTuple, assert_never

import msgspec

from chatplatform.answers import TOO_MANY, asked_seconds, decoded, is_global, read_code
from core.rows import Delivery, Listing
from grammars.http_urls import Target, UrlRefused
from kinds.registry import kind_of
from languages.catalogs import read_catalog
from languages.language_names import DEFAULT_LANGUAGE, LANGUAGES

TITLE_UNITS = 256  # of an embed, in UTF-16 code units
REASON_UNITS = 2_000  # of a description, which may have 4,096
UNKNOWN_WEBHOOK = 10_015
# Below version 8, and without a version, the platform gives waits in milliseconds.
API_VERSION, FIRST_VERSION_IN_SECONDS = 10, 8

_PATH = re.compile(
    r"/api(?:/v(?P<version>[1-9][0-9]?))?/webhooks/(?P<id>[0-9]{1,20})/(?P<token>[A-Za-z0-9_-]+)/?"
    r"(?P<query>\?[^#]*)?"
)
# Control characters, characters that change the direction of text, and invisible ones.
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff]"
)
_JOINERS = "\u200c\u200d"  # words and emoji may contain them; a name of these alone is invisible
_SYNTAX = re.compile(r"[\\`*_~|<>@#:/\[\]()+.-]")

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class ChatUrl:
    """A chat webhook. `id` is public. `path` is for the request line, in an API version with waits in
    seconds."""

    id: str
    token: str = field(repr=False)
    path: str = field(repr=False)


class ChatLimits(NamedTuple):
    """The limits that a response sets.

    `wait_ms` is the time until the next message, and `everywhere` extends it to all webhooks of the platform.
    `gone` is True if the webhook was deleted.
    """

    wait_ms: int = 0
    everywhere: bool = False
    gone: bool = False


# -- URLs ----------------------------------------------------------------------------------------------


def chat_target(target: Target, hosts: Collection[str]) -> ChatUrl | None:
    """Return the chat webhook that a URL names, or None if its host is no chat platform. Raises UrlRefused.

    `hosts` are names in lower case: "name" stands for https on port 443, "name:port" for that port alone.
    """
    name = f"[{target.host}]" if ":" in target.host else target.host
    if f"{name}:{target.port}" not in hosts:
        if name not in hosts:
            if any(name.endswith(f".{host}") for host in hosts):
                raise UrlRefused("chat_host_itself")
            return None
        if (target.scheme, target.port) != ("https", 443):
            raise UrlRefused("chat_https")
    found = _PATH.fullmatch(target.path)
    if found is None:
        raise UrlRefused("chat_path")
    version = int(found["version"] or 0)
    version = version if version >= FIRST_VERSION_IN_SECONDS else API_VERSION
    path = f"/api/v{version}/webhooks/{found['id']}/{found['token']}{found['query'] or ''}"
    return ChatUrl(found["id"], found["token"], path)


# -- the message ---------------------------------------------------------------------------------------


def chat_message(delivery: Delivery, listing: Listing, language: str) -> bytes:
    """Return the JSON body: one embed with the event, the listing and the time, which notifies nobody."""
    title, sentence = _words(delivery, translator(language))
    name = shown_as_text(
        plain_line(listing.profile.name) or listing.id, TITLE_UNITS - utf16_units(title.format(name=""))
    )
    # The platform shows the time in the time zone and language of each reader.
    moment = f"<t:{delivery.queued_ms // 1_000}:F>"
    reason = "" if delivery.reason is None else shown_as_text(plain_line(delivery.reason), REASON_UNITS)
    told = sentence.format(user=f"<@{delivery.user}>", reason=reason, stars=delivery.stars)
    embed = {"title": title.format(name=name), "description": f"{told}\n{moment}"}
    return _encode({"embeds": [embed], "allowed_mentions": {"parse": []}})


def _words(delivery: Delivery, say: Callable[[str], str]) -> tuple[str, str]:
    """Return the title and the sentence of a message."""
    if delivery.test:
        return say("Test message for {name}"), say("This is a test with the user {user}. Nobody voted.")
    match delivery.event:
        case "vote":
            part = kind_of(delivery.ref).webhook
            return say("New vote for {name}"), say(part.voted) if part is not None else ""
        case "review.approved":
            return say("{name} is approved"), say("Users can vote for it now.")
        case "review.denied":
            return say("{name} is denied"), say("Reason: {reason}")
        case "vote.struck":
            return say("A vote for {name} was struck out"), say("{user} voted. Reason: {reason}")
        case "rating.posted":
            return say("New review of {name}"), say("{user} gave {stars} of 5 stars.")
        case _:
            assert_never(delivery.event)


def plain_line(name: str) -> str:
    """Return the text as one line without invisible characters. It may be empty."""
    line = _INVISIBLE.sub("", " ".join(name.split())).strip()
    return line if line.strip(_JOINERS) else ""


def shown_as_text(line: str, most_units: int) -> str:
    """Escape a text so that the platform shows it as it is written, and cut it to `most_units`.

    A backslash makes the platform show the ASCII punctuation after it. So the line begins no format, mention,
    emoji, link, heading or list.
    """
    pieces = [_SYNTAX.sub(r"\\\g<0>", character) for character in line]
    if sum(map(utf16_units, pieces)) <= most_units:
        return "".join(pieces)
    room = most_units - 1
    kept = ""
    for piece in pieces:
        room -= utf16_units(piece)
        if room < 0:
            break
        kept += piece
    return kept + "…"


def utf16_units(text: str) -> int:
    """Return the length in UTF-16 code units, the strictest way to count."""
    return len(text.encode("utf-16-le")) // 2


# -- the response --------------------------------------------------------------------------------------


def chat_limits(status: int, headers: Mapping[str, str], body: bytes) -> ChatLimits:
    """Read the limits of a response. Header names are in lower case. A malformed limit counts as none."""
    answer = decoded(body) if status in {404, TOO_MANY} else None
    return ChatLimits(
        math.ceil((asked_seconds(status, headers, answer) or 0) * 1_000),
        everywhere=status == TOO_MANY and is_global(headers, answer),
        gone=status == 404 and read_code(answer) == UNKNOWN_WEBHOOK,
    )


# -- languages -----------------------------------------------------------------------------------------------


def translator(language: str) -> Callable[[str], str]:
    """Return a function that translates English texts. For an unknown language it returns them unchanged."""
    return _CATALOGS.get(language, _CATALOGS[DEFAULT_LANGUAGE]).gettext


_CATALOGS: dict[str, NullTranslations] = {
    language: read_catalog("webhook", "votegate", language) for language in LANGUAGES
}
