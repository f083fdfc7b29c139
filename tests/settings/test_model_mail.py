"""The settings of e-mails, and how they fit together."""

import pytest

from settings.model import MailSettings, Settings, load_settings
from tests.support.given_settings import CLIENT_SECRET, MAIL_PASSWORD, SITE, mistakes

MAIL: dict[str, object] = {
    **SITE,
    "chat_platform.client_secret": CLIENT_SECRET,
    "web.keep_email": True,
    "mail.host": "mail.bots.example",
    "mail.from_address": "news@bots.example",
}


def loaded(**settings: object) -> MailSettings:
    return load_settings(None, {}, {**MAIL, **settings}).mail


def wrong(**settings: object) -> list[str]:
    return mistakes(flags={**MAIL, **settings})


def test_mails_are_off_by_default_and_no_address_is_kept() -> None:
    assert Settings().mail == MailSettings()
    assert (Settings().mail.host, Settings().web.keep_email) == (None, False)


def test_a_server_is_used_with_tls_by_default() -> None:
    assert (loaded().tls, loaded().port, loaded().timeout_seconds) == ("starttls", 587, 10)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"mail.from_address": None}, "mail: mail.from_address"),
        ({"mail.from_address": "news"}, "mail.from_address"),
        ({"mail.from_address": "a@b.example, c@d.example"}, "mail.from_address"),
        ({"mail.from_address": "a@b.example\nBcc: c@d.example"}, "mail.from_address"),
        ({"mail.host": "two hosts"}, "mail.host"),
        ({"mail.port": 0}, "mail.port"),
        ({"mail.username": "votegate"}, "mail: mail.password"),
        ({"mail.password": MAIL_PASSWORD}, "mail: mail.username"),
        ({"mail.tls": "none"}, "mail: mail.tls"),
        ({"mail.tls": "ssl"}, "mail.tls"),
        ({"mail.timeout_seconds": 0}, "mail.timeout_seconds"),
        ({"web.keep_email": False}, "mail.host"),
        ({"mail.host": None}, "web.keep_email"),
    ],
)
def test_a_mistake_is_told_by_the_name_of_its_setting(changed: dict[str, object], name: str) -> None:
    (mistake,) = wrong(**changed)
    assert mistake.startswith(f"{name}")
    assert MAIL_PASSWORD not in mistake


def test_mails_need_pages_for_people() -> None:
    found = mistakes(flags={name: value for name, value in MAIL.items() if name != "web.public_url"})
    assert [each.partition(":")[0] for each in found] == ["mail.host"]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_a_server_on_loopback_needs_no_tls(host: str) -> None:
    assert loaded(**{"mail.host": host, "mail.tls": "none"}).tls == "none"
