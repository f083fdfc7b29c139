"""The management view's tab for webhook settings: configuration and Send Test."""

import pytest

from tests.support.contract import (
    BOT_PATH,
    Served,
    attempted,
    deliveries,
    pending,
    refusal,
    set_webhook,
    wrong_fields,
)
from tests.support.gateways import BOT, OTHER_USER, SERVER, USER, ThreadGateway, eventually
from tests.support.webhook_receiver import Receiver, status

WEBHOOK = f"{BOT_PATH}/webhook"
URL = "https://example.com/votes"
NO_WEBHOOK = (404, "The listing has no webhook.")


@pytest.fixture
def gateway(gateway: ThreadGateway) -> ThreadGateway:
    """A gateway with an approved bot."""
    gateway.list_bot()
    return gateway


@pytest.mark.parametrize("path", [BOT_PATH, f"/manage/servers/{SERVER}"], ids=["bot", "server"])
def test_a_webhook_is_saved_shown_and_removed(gateway: ThreadGateway, path: str) -> None:
    gateway.list_server()
    saved = gateway.done("PUT", f"{path}/webhook", {"url": URL})
    secret = saved.pop("secret")
    assert secret.startswith("whsec_")
    assert saved == {
        "success": True,
        "url": URL,
        "has_token": False,
        "language": None,
        "signed": True,
        "old_secret_until": None,
        "events": ["vote"],
        "saved_at": gateway.clock.now_ms(),
        "pending": 0,
        "failed_in_a_row": 0,
        "suspension": None,
    }
    assert gateway.done("GET", f"{path}/webhook") == saved
    assert gateway.done("GET", path)["has_webhook"] is True

    assert gateway.done("DELETE", f"{path}/webhook") == {"success": True}

    assert refusal(gateway.operate("GET", f"{path}/webhook")) == NO_WEBHOOK
    assert gateway.done("GET", path)["has_webhook"] is False


def test_the_token_is_never_shown(gateway: ThreadGateway, receiver: Receiver) -> None:
    token = "never-to-be-shown"
    saved = gateway.operate("PUT", WEBHOOK, {"url": receiver.url, "token": token})
    tested = gateway.operate("POST", f"{WEBHOOK}/test", {"user": USER})
    pages = [
        WEBHOOK,
        BOT_PATH,
        f"{WEBHOOK}/deliveries",
        "/debug/overview.json",
        f"/debug/listings/bots/{BOT}.json",
    ]

    shown = [saved.text, tested.text, *(gateway.operate("GET", page).text for page in pages)]

    assert saved.json()["has_token"] is True
    assert all(token not in text for text in shown)


def test_saving_without_a_token_removes_the_token(gateway: ThreadGateway, receiver: Receiver) -> None:
    set_webhook(gateway, receiver.url, token="secret")
    set_webhook(gateway, receiver.url)

    gateway.cast()

    assert "authorization" not in eventually(lambda: receiver.received)[0].headers


def test_settings_survive_a_restart(gateway: ThreadGateway, receiver: Receiver) -> None:
    set_webhook(gateway, receiver.url, token="secret")

    gateway.restart()
    gateway.cast()

    assert eventually(lambda: receiver.received)[0].headers["authorization"] == "secret"


@pytest.mark.parametrize("language", ["en", "pt-BR", "xx", ""])
def test_a_language_is_refused_for_a_url_that_is_no_chat_platform_webhook(
    served: Served, language: str
) -> None:
    response = served.operate("PUT", WEBHOOK, {"url": URL, "language": language})

    assert wrong_fields(response) == {"language"}


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "/votes",
        "http://",
        "http:///votes",
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://user:password@example.com/",
        "http://user@example.com/",
        "http://example.com:0/",
        "http://example.com:65536/",
        "http://example.com:port/",
        "http://exa mple.com/",
        "http://example.com/\r\nX: y",
        "http://example.com\\@other.example/",
        "http://exämple.com/",
        "http://[::1/",
        "http://example.com/" + "a" * 2_030,
    ],
)
def test_a_url_must_be_an_http_or_https_url_with_a_host(served: Served, url: str) -> None:
    assert wrong_fields(served.operate("PUT", WEBHOOK, {"url": url})) == {"url"}


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "HTTPS://EXAMPLE.COM:443?a=b#c",
        "https://bot.example:8443//votes/../x?a=%2F&b[]={c}|d",
        "https://xn--exmple-cua.com/",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]:1024/",
        "https://a.example/" + "b" * 2_030,
    ],
)
def test_other_urls_are_taken_and_shown_as_they_were_written(gateway: ThreadGateway, url: str) -> None:
    assert gateway.done("PUT", WEBHOOK, {"url": url})["url"] == url


@pytest.mark.parametrize("token", ["t", "t" * 512, "Bearer abc.def", "!#$%&'*+-.^_`|~"])
def test_a_token_is_1_to_512_visible_characters(gateway: ThreadGateway, token: str) -> None:
    assert gateway.done("PUT", WEBHOOK, {"url": URL, "token": token})["has_token"] is True


@pytest.mark.parametrize("token", ["", "t" * 513, " t", "t ", "a\r\nX: y", "tökén", "\x00", "a\tb"])
def test_any_other_token_is_400(served: Served, token: str) -> None:
    assert wrong_fields(served.operate("PUT", WEBHOOK, {"url": URL, "token": token})) == {"token"}


def test_every_wrong_field_is_named_at_once(served: Served) -> None:
    body = {"url": "ftp://x", "token": "", "language": "xx", "secret": "x"}

    assert wrong_fields(served.operate("PUT", WEBHOOK, body)) == set(body)


def test_a_test_answers_with_the_delivery_and_its_result(gateway: ThreadGateway, receiver: Receiver) -> None:
    set_webhook(gateway, receiver.url)
    receiver.default = status(200, b"thank you")

    tested = gateway.done("POST", f"{WEBHOOK}/test", {"user": OTHER_USER})

    assert (tested["success"], tested["test"], tested["user"]) == (True, True, OTHER_USER)
    assert (tested["state"], tested["status"], tested["error"]) == ("delivered", 200, None)
    assert (tested["excerpt"], tested["duration_ms"]) == ("thank you", 0)
    assert deliveries(gateway)[0]["id"] == tested["id"]


def test_a_failed_test_is_reported_and_tried_again_like_a_vote(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    set_webhook(gateway, receiver.url)
    receiver.answers = [status(503)]

    tested = gateway.done("POST", f"{WEBHOOK}/test", {"user": USER})

    assert (tested["state"], tested["status"], tested["error"]) == ("pending", 503, "http_503")
    gateway.advance(5)
    assert attempted(gateway, 2)["state"] == "delivered"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/test"),
        ("POST", "/secret/rotate"),
        ("POST", "/deliveries/redeliver"),
        ("POST", "/deliveries/none/redeliver"),
    ],
)
def test_without_a_webhook_it_is_404(gateway: ThreadGateway, method: str, path: str) -> None:
    assert refusal(gateway.operate(method, WEBHOOK + path)) == NO_WEBHOOK


def test_without_a_webhook_a_vote_queues_nothing(gateway: ThreadGateway) -> None:
    gateway.cast()

    assert (pending(gateway), deliveries(gateway)) == (0, [])
