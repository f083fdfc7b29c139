"""webhook/chat.py: the messages to a chat platform, and no token where it does not belong."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rows import Delivery, Listing, Webhook
from grammars.http_urls import UrlRefused, read_url
from languages.language_names import LANGUAGES
from tests.support.examples import examples
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OWNER, SERVER_PROFILE, SERVER_REF, USER
from webhook.chat import TITLE_UNITS, ChatUrl, chat_message, chat_target

HOSTS = ["discord.com", "ptb.discord.com", "127.0.0.1:8081", "[::1]:8081"]
TOKEN = "3d89bb7572e0-fb30d8128367b3_b1b44FECD1726de135"

tokens = st.from_regex(r"[A-Za-z0-9_-]{8,80}", fullmatch=True)


def named(url: str) -> ChatUrl | None:
    return chat_target(read_url(url), HOSTS)


def sent(*, name: str = "Test bot", server: bool = False, test: bool = False, language: str = "en") -> Any:
    """Return the message about a vote, decoded."""
    profile = SERVER_PROFILE if server else BOT_PROFILE
    kind = SERVER_REF if server else BOT_REF
    listing = Listing(kind, OWNER, type(profile)(**{**_fields(profile), "name": name}), 0, 0)
    delivery = Delivery("d", kind, USER, test=test, queued_ms=NOW_MS + 999, next_attempt_ms=None)
    return json.loads(chat_message(delivery, listing, language))


def _fields(profile: Any) -> dict[str, Any]:
    return {name: getattr(profile, name) for name in profile.__struct_fields__}


def title(name: str, language: str = "en") -> str:
    text: str = sent(name=name, language=language)["embeds"][0]["title"]
    return text


def rendered(text: str) -> str:
    """Return a text as the platform shows it. Fails if some of its syntax is not escaped."""
    assert not re.search(r"[\\`*_~|<>@#:/\[\]()+.-]", re.sub(r"\\[^0-9A-Za-z\s]", "", text)), text
    return re.sub(r"\\([^0-9A-Za-z\s])", r"\1", text)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


# -- URLs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "path"),
    [
        (f"https://discord.com/api/webhooks/123/{TOKEN}", f"/api/v10/webhooks/123/{TOKEN}"),
        (f"https://DISCORD.com:443/api/webhooks/123/{TOKEN}/", f"/api/v10/webhooks/123/{TOKEN}"),
        (f"https://ptb.discord.com/api/v6/webhooks/123/{TOKEN}", f"/api/v10/webhooks/123/{TOKEN}"),
        (f"https://discord.com/api/v9/webhooks/123/{TOKEN}", f"/api/v9/webhooks/123/{TOKEN}"),
        (f"http://127.0.0.1:8081/api/v11/webhooks/123/{TOKEN}", f"/api/v11/webhooks/123/{TOKEN}"),
        (f"http://[0::1]:8081/api/webhooks/123/{TOKEN}", f"/api/v10/webhooks/123/{TOKEN}"),
        (
            f"https://discord.com/api/webhooks/123/{TOKEN}/?thread_id=9&wait=true#top",
            f"/api/v10/webhooks/123/{TOKEN}?thread_id=9&wait=true",
        ),
    ],
)
def test_a_chat_webhook_is_asked_in_a_version_that_counts_in_seconds(url: str, path: str) -> None:
    assert named(url) == ChatUrl("123", TOKEN, path)


@pytest.mark.parametrize(
    "url",
    [
        f"https://receiver.example/api/webhooks/123/{TOKEN}",
        f"https://discord.com.example/api/webhooks/123/{TOKEN}",
        f"https://notdiscord.com/api/webhooks/123/{TOKEN}",
        f"http://127.0.0.1:8082/api/webhooks/123/{TOKEN}",
    ],
)
def test_a_url_on_another_host_is_no_chat_webhook(url: str) -> None:
    assert named(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://discord.com",
        "https://discord.com/api/oauth2/token",
        f"https://discord.com/api/webhooks/123/{TOKEN}/slack",
        f"https://discord.com/api/webhooks/123/{TOKEN}/github",
        f"https://discord.com/api/webhooks/123/{TOKEN}/messages/9",
        f"https://discord.com/api/webhooks/123/{TOKEN}//",
        "https://discord.com/api/webhooks/123",
        "https://discord.com/api/webhooks/123/",
        "https://discord.com/api/webhooks/123/..",
        "https://discord.com/api/webhooks/123/%2e%2e",
        f"https://discord.com/api/webhooks/abc/{TOKEN}",
        f"https://discord.com/api/v0/webhooks/123/{TOKEN}",
        f"https://discord.com/api/v/webhooks/123/{TOKEN}",
        f"https://discord.com/API/webhooks/123/{TOKEN}",
        f"https://discord.com//api/webhooks/123/{TOKEN}",
        f"http://discord.com/api/webhooks/123/{TOKEN}",
        f"http://discord.com:443/api/webhooks/123/{TOKEN}",
        f"https://discord.com:8443/api/webhooks/123/{TOKEN}",
    ],
)
def test_a_url_on_a_chat_host_that_is_no_webhook_is_refused_without_its_words(url: str) -> None:
    with pytest.raises(UrlRefused) as refusal:
        named(url)
    assert str(refusal.value).startswith("must ")
    assert TOKEN not in str(refusal.value)


@examples(100)
@given(st.sampled_from(["", "/v10"]), tokens, st.sampled_from(["", "/", "?wait=true"]))
def test_views_show_the_id_and_never_the_token(version: str, token: str, end: str) -> None:
    webhook = Webhook(f"https://discord.com/api{version}/webhooks/123456789/{token}{end}", 0, language="en")
    assert webhook.shown_url == f"https://discord.com/api{version}/webhooks/123456789/...{end}"
    assert webhook.chat_token == token


def test_other_urls_are_shown_as_they_are() -> None:
    webhook = Webhook("https://receiver.example/api/webhooks/123/votes", 0)
    assert (webhook.shown_url, webhook.chat_token) == (webhook.url, None)


def test_a_chat_url_does_not_print_its_token() -> None:
    assert TOKEN not in repr(named(f"https://discord.com/api/webhooks/123/{TOKEN}"))


# -- the message ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("server", "test", "head", "sentence"),
    [
        (False, False, "New vote for Test bot", f"<@{USER}> voted for the bot."),
        (True, False, "New vote for Test bot", f"<@{USER}> voted for the server."),
        (False, True, "Test message for Test bot", f"This is a test with the user <@{USER}>. Nobody voted."),
    ],
)
def test_a_message_says_who_voted_for_what_and_when(
    server: bool, test: bool, head: str, sentence: str
) -> None:
    assert sent(server=server, test=test) == {
        "embeds": [{"title": head, "description": f"{sentence}\n<t:{NOW_MS // 1_000}:F>"}],
        "allowed_mentions": {"parse": []},
    }


@pytest.mark.parametrize("test", [False, True])
@pytest.mark.parametrize("server", [False, True])
def test_a_message_has_the_same_facts_in_every_language(server: bool, test: bool) -> None:
    said = set()
    for language in LANGUAGES:
        (embed,) = sent(server=server, test=test, language=language)["embeds"]
        assert "Test bot" in embed["title"]
        assert embed["description"].count(f"<@{USER}>") == 1
        assert embed["description"].endswith(f"\n<t:{NOW_MS // 1_000}:F>")
        said.add((embed["title"], embed["description"]))
    assert len(said) == len(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "name",
    [
        "@everyone",
        "<@1> <@!2> <@&3> <#4> </vote:5> <:smile:6> <t:7:R> <id:home>",
        "# Heading",
        "-# small",
        "1. first",
        "> quoted",
        "[free](https://evil.example)",
        "https://evil.example/x",
        "**bold** __under__ ~~gone~~ ||spoiler|| `code` ```block```",
        ":smile: \\",
        "{user} {name} %s",
        "*" * 100,
        "🗳" * 100,
    ],
)
def test_a_name_is_shown_as_it_is_written(name: str, language: str) -> None:
    said = title(name, language)
    assert units(said) <= TITLE_UNITS
    assert rendered(said) == rendered(title("NAME", language)).replace("NAME", name)


def test_a_name_stays_on_its_line_and_turns_nothing_around() -> None:
    assert title("one\n# two\u2028three\u202eeerht\x1b") == "New vote for one \\# two threeeerht"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["x" * 300, "x" + "*" * 300, "🗳" * 300, "x" + "🗳*" * 300])
def test_an_over_long_name_is_cut_where_a_title_ends(name: str, language: str) -> None:
    said = title(name, language)
    longest_piece = 1 if name.startswith("xx") else 2  # an escaped character, or one beyond U+FFFF
    assert TITLE_UNITS - longest_piece < units(said) <= TITLE_UNITS
    before, after = title("NAME", language).split("NAME")
    shown = rendered(said.removeprefix(before).removesuffix(after))
    assert shown.endswith("…")
    assert name.startswith(shown.removesuffix("…"))


def test_a_name_that_just_fits_is_not_cut() -> None:
    name = "x" * (TITLE_UNITS - len("New vote for "))
    assert title(name) == f"New vote for {name}"


@examples(200)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_name_makes_a_message_that_could_be_refused_or_obeyed(name: str) -> None:
    said = title(name)
    assert units(said) <= TITLE_UNITS
    assert re.fullmatch(r"New vote for \S.*", rendered(said))


def test_a_name_without_anything_to_see_is_replaced_by_the_id() -> None:
    assert title("\u202e \x00") == f"New vote for {BOT_REF.removeprefix('bots/')}"
