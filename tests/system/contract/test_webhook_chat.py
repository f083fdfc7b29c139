"""A chat platform's webhook URL as target: one message a vote, its waits obeyed, its password kept."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.chat_channel import CHAT_PATH, TOKEN, channel, described, host_of
from tests.support.contract import (
    BOT_PATH,
    attempted,
    deliveries,
    pending,
    refusal,
    set_webhook,
    users,
    webhook,
    wrong_fields,
)
from tests.support.gateways import BOT, OTHER_BOT, SERVER, USER, ProcessGateway, ThreadGateway, eventually
from tests.support.webhook_receiver import Receiver, receiving, status

WEBHOOK = f"{BOT_PATH}/webhook"
OTHER_PATH = f"/manage/bots/{OTHER_BOT}"
DEFAULT_HOSTS = [
    "discord.com",
    "discordapp.com",
    "canary.discord.com",
    "ptb.discord.com",
    "canary.discordapp.com",
    "ptb.discordapp.com",
]


@pytest.fixture
def chat(tmp_path: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    with channel(tmp_path / "data", receiver) as gateway:
        yield gateway


# -- settings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        *(f"https://{host}{CHAT_PATH}" for host in DEFAULT_HOSTS),
        f"https://discord.com/api/v10/webhooks/123456789/{TOKEN}",
        f"https://discord.com/api/v6/webhooks/123456789/{TOKEN}/",
        f"https://DISCORD.com:443{CHAT_PATH}?thread_id=42&wait=true",
    ],
)
def test_the_forms_that_a_chat_platform_gives_out_are_accepted_and_nothing_is_sent(
    gateway: ThreadGateway, url: str
) -> None:
    gateway.list_bot()

    saved = gateway.done("PUT", WEBHOOK, {"url": url})

    assert saved == {"success": True, **webhook(gateway), "secret": None}
    assert saved["url"] == url.replace(TOKEN, "...")
    assert (saved["language"], saved["signed"], saved["has_token"]) == ("en", False, False)
    assert (saved["pending"], pending(gateway), deliveries(gateway)) == (0, 0, [])


@pytest.mark.parametrize(
    "url",
    [
        f"https://discord.com{CHAT_PATH}/slack",
        f"https://discord.com{CHAT_PATH}/github",
        "https://discord.com/api/webhooks/123456789/",
        "https://discord.com/api/webhooks/123456789",
        f"https://discord.com/api/webhooks/name/{TOKEN}",
        f"https://discord.com//api/webhooks/123456789/{TOKEN}",
        "https://discord.com/channels/1/2",
        "https://ptb.discord.com/",
        f"https://discord.com:8443{CHAT_PATH}",
    ],
)
def test_other_forms_on_its_hosts_are_400_and_the_reason_tells_no_password(
    gateway: ThreadGateway, url: str
) -> None:
    gateway.list_bot()

    refused = gateway.operate("PUT", WEBHOOK, {"url": url})

    assert wrong_fields(refused) == {"url"}
    assert TOKEN not in refused.text
    assert gateway.operate("GET", WEBHOOK).status_code == 404


def test_a_token_is_refused_and_a_language_is_accepted(chat: ThreadGateway, receiver: Receiver) -> None:
    url = receiver.url + CHAT_PATH

    refused = chat.operate("PUT", WEBHOOK, {"url": url, "token": "secret"})
    saved = chat.done("PUT", WEBHOOK, {"url": url, "language": "pt-BR"})

    reason = "is not supported for a chat platform's webhook URL"
    assert refused.json()["fields"] == {"token": reason}
    assert saved["language"] == "pt-BR"


def test_for_other_urls_a_token_is_accepted_and_a_language_refused(chat: ThreadGateway) -> None:
    with receiving() as plain:
        refused = chat.operate("PUT", WEBHOOK, {"url": plain.url, "language": "de"})
        saved = chat.done("PUT", WEBHOOK, {"url": plain.url, "token": "secret"})

    assert refused.json()["fields"] == {"language": "is only for a chat platform's webhook URL"}
    assert (saved["has_token"], saved["language"], saved["signed"]) == (True, None, True)


def test_a_message_has_no_secret_to_rotate(chat: ThreadGateway) -> None:
    response = chat.operate("POST", f"{WEBHOOK}/secret/rotate")

    assert refusal(response) == (409, "Messages to a chat platform are not signed.")


# -- messages ------------------------------------------------------------------------------------------


def test_a_vote_is_one_embed_that_notifies_nobody_and_carries_no_secret(
    chat: ThreadGateway, receiver: Receiver
) -> None:
    chat.cast()

    (call,) = eventually(lambda: receiver.received)
    seconds = chat.clock.now_ms() // 1_000
    assert json.loads(call.body) == {
        "embeds": [
            {
                "title": "New vote for Test bot",
                "description": f"<@{USER}> voted for the bot.\n<t:{seconds}:F>",
            }
        ],
        "allowed_mentions": {"parse": []},
    }
    assert (call.method, call.path) == ("POST", f"/api/v10/webhooks/123456789/{TOKEN}")
    assert call.headers["content-type"] == "application/json"
    assert "authorization" not in call.headers
    assert not [name for name in call.headers if name.startswith("webhook-")]
    assert attempted(chat, 1)["state"] == "delivered"


@pytest.mark.parametrize(
    ("language", "title"),
    [("en", "New vote for"), ("de", "Neue Stimme für"), ("ja", "Test bot"), ("ru", "Test bot")],
)
def test_a_message_is_in_the_language_of_the_settings(
    chat: ThreadGateway, receiver: Receiver, language: str, title: str
) -> None:
    set_webhook(chat, receiver.url + CHAT_PATH, language=language)

    chat.cast()

    (call,) = eventually(lambda: receiver.received)
    (embed,) = json.loads(call.body)["embeds"]
    assert title in embed["title"]
    assert ("voted for" in embed["description"]) is (language == "en")


def test_a_server_s_votes_and_tests_go_the_same_way_and_into_the_thread(
    chat: ThreadGateway, receiver: Receiver
) -> None:
    chat.list_server()
    path = f"/manage/servers/{SERVER}"
    set_webhook(chat, receiver.url + CHAT_PATH + "?thread_id=42", path)

    chat.cast(path=path)
    tested = chat.done("POST", f"{path}/webhook/test", {"user": USER})

    assert tested["state"] == "delivered"
    eventually(lambda: len(receiver.received) == 2)
    vote, test = sorted(receiver.received, key=lambda call: "Nobody voted." in described(call))
    assert {call.path for call in receiver.received} == {f"/api/v10{CHAT_PATH[4:]}?thread_id=42"}
    assert "voted for the server." in described(vote)
    assert "Nobody voted." in described(test)


# -- the password --------------------------------------------------------------------------------------


def test_the_password_is_in_no_answer_even_if_the_platform_echoes_it(
    chat: ThreadGateway, receiver: Receiver
) -> None:
    url = receiver.url + CHAT_PATH
    echo = status(500, f"you called {url} with {TOKEN}".encode())
    receiver.answers = [echo, echo]
    shown = [
        chat.operate("PUT", WEBHOOK, {"url": url}).text,
        chat.operate("PUT", WEBHOOK, {"url": url, "token": "t"}).text,
        chat.operate("POST", f"{WEBHOOK}/test", {"user": USER}).text,
    ]
    chat.cast()
    row = attempted(chat, 1)
    shown.append(chat.operate("POST", f"{WEBHOOK}/deliveries/{row['id']}/redeliver").text)

    pages = [WEBHOOK, BOT_PATH, "/manage/bots", f"{WEBHOOK}/deliveries"]
    pages += [f"/debug/listings/bots/{BOT}.json", "/debug/overview.json", "/metrics", "/openapi.json"]
    shown += [chat.operate("GET", page).text for page in pages]

    host = host_of(receiver)
    assert row["excerpt"] == f"you called http://{host}/api/webhooks/123456789/[secret] with [secret]"
    assert webhook(chat)["url"] == f"http://{host}/api/webhooks/123456789/..."
    assert not [text for text in shown if TOKEN in text]


def test_a_gateway_that_logs_everything_logs_no_password_and_no_secret(
    process: ProcessGateway, receiver: Receiver
) -> None:
    process.environment |= {
        "VOTEGATE_LOG__LEVEL": "DEBUG",
        "VOTEGATE_WEBHOOKS__CHAT_HOSTS": host_of(receiver),
        "VOTEGATE_WEBHOOKS__RETRY_DELAY_SECONDS": "0",
        "VOTEGATE_WEBHOOKS__RETRIES": "1",
    }
    process.start()
    process.list_bot()
    process.list_bot(OTHER_BOT)
    with receiving() as plain:
        own = {"url": plain.url + "/votes", "token": "a-token-of-the-owner"}
        secret = process.done("PUT", f"{OTHER_PATH}/webhook", own)["secret"]
        process.done("PUT", WEBHOOK, {"url": receiver.url + CHAT_PATH})
        gone = status(404, b'{"code": 10015}')
        receiver.answers = [status(500), status(204), status(429, b'{"retry_after": 0.01}'), gone]
        plain.answers = [status(500), status(204), status(500), status(410)]
        for user in users(3):
            process.cast(user)
            process.cast(user, OTHER_PATH)
        eventually(lambda: webhook(process)["suspension"] and webhook(process, OTHER_PATH)["suspension"])
        process.operate("PUT", WEBHOOK, {"url": f"https://discord.com/api/webhooks/1/{TOKEN}/slack"})
        rotated = process.done("POST", f"{OTHER_PATH}/webhook/secret/rotate")["secret"]
    process.done("POST", f"{WEBHOOK}/test", {"user": USER})
    assert process.signal(signal.SIGTERM) == 0  # which writes all of the log

    assert "PUT /manage/bots" in process.log
    for hidden in (TOKEN, own["token"], secret[6:], rotated[6:], process.operator_token):
        assert hidden not in process.log
