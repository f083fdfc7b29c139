"""gateway/serve.py: the log lines of a start."""

import json
import signal
from pathlib import Path

import pytest

from core.version import VERSION
from gateway.serve import PAGES, start_lines, warn_of_insecurity
from settings.model import load_settings
from storage.sealing import Keyring, new_key
from tests.support.forked_gateway import ForkedGateway

COLUMNS = 80
SECRETS = {
    "operator.token": "token-of-the-operator",
    "keys.digest_secret": "d" * 43,
    "sealing.keys": Keyring([new_key()]).to_text(),
}


def test_a_start_says_what_it_is() -> None:
    url = "http://127.0.0.1:8080"
    assert start_lines(load_settings(None, {}, {}), 42, [url], ["/docs", "/healthz"]) == [
        f"Votegate {VERSION} at position 42",
        f"data folder: {Path('data').absolute()}",
        "operator token: file operator.token",
        "sealing keys: file sealing.keys",
        "digest secret: file key-digest.secret",
        "keep copies of both apart from the data",
        "fleet: none",
        "pages: /docs",
        f"serving on {url}",
    ]


def test_secrets_of_the_settings_are_named_and_not_shown() -> None:
    lines = start_lines(load_settings(None, {}, SECRETS), 0, [], [])
    assert {"operator token: in the settings", "sealing keys: in the settings"} < {*lines}
    assert "digest secret: in the settings" in lines
    assert not [line for line in lines for secret in SECRETS.values() if secret in line]


def test_a_node_says_its_fleet_and_its_name() -> None:
    fleet = {"redis.url": "redis://:hush@redis.example:6379", "redis.node": "eu-1", "redis.prefix": "votes"}
    lines = start_lines(load_settings(None, {}, fleet), 0, [], [])
    assert "fleet: votes, as node eu-1" in lines
    assert "hush" not in str(lines)


SITE = {
    "web.public_url": "http://127.0.0.1:8080",
    "chat_platform.client_id": "900000000000000001",
    "chat_platform.client_secret": "client-secret-of-the-tests",
}


def test_a_site_says_its_pages_and_the_redirect_uri_to_register_and_not_its_secret() -> None:
    lines = start_lines(load_settings(None, {}, SITE), 0, [], ["/debug", "/me", "/"])
    assert "pages: /, /debug" in lines
    assert "redirect URI at the chat platform: http://127.0.0.1:8080/signin/callback" in lines
    assert SITE["chat_platform.client_secret"] not in str(lines)


@pytest.mark.parametrize(
    ("settings", "warns"),
    [
        ({}, False),
        (SITE, False),
        ({"web.insecure_cookies": True}, False),
        ({**SITE, "web.insecure_cookies": True}, True),
    ],
)
def test_cookies_that_are_not_secure_are_a_warning(
    settings: dict[str, object], warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    warn_of_insecurity(load_settings(None, {}, settings))
    assert [record.levelname for record in caplog.records] == ["WARNING"] * warns
    assert caplog.text.count("web.insecure_cookies is on: ") == warns


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost"])
def test_it_fits_the_screen_and_names_every_address(tmp_path: Path, address: str) -> None:
    gateway = ForkedGateway(Path("data"), VOTEGATE_DATA_DIR=str(tmp_path / "d"))
    gateway.start("--address", address)
    assert gateway.signal(signal.SIGTERM) == 0
    start = gateway.log.splitlines()
    shown = [line for line in start if str(tmp_path) not in line]
    assert max(map(len, shown)) <= COLUMNS
    assert gateway.log.count("serving on http://") == (2 if "::1" in gateway.log else 1)


def test_as_json_each_line_is_an_object(tmp_path: Path) -> None:
    gateway = ForkedGateway(tmp_path / "data", VOTEGATE_LOG__FORM="json").start()
    served = [page for page in PAGES if gateway.request("GET", page).status_code != 404]
    assert gateway.signal(signal.SIGTERM) == 0
    messages = [json.loads(line).get("message") for line in gateway.log.splitlines()]
    settings = load_settings(None, {}, {"data_dir": gateway.folder, "operator.token": "x" * 16})
    assert messages[:9] == start_lines(settings, 0, [gateway.base_url], served)
