"""mail/mail_server.py: mails to a real SMTP server, with TLS by an authority of the tests."""

import asyncio
import socket
from collections.abc import Iterator
from email.headerregistry import Address
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from direct_messages.message_attempts import Failure, NotSent
from mail.mail_server import MailAccess, MailServer, written
from mail.mail_text import Mail
from tests.support.certificate_authority import Authority, trusted
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from tests.support.mail_receiver import HOST, PASSWORD, USERNAME, MailReceiver, receiving_mail
from tests.support.sample_rows import NOW_MS

MAIL = Mail(
    "ada@example.com",
    "Groove Box is denied · Bots",
    "Groove Box is denied.\n\nIt hums: „zu laut“ für 日本.\n",
    "0123456789abcdef",
    "https://bots.example/unsubscribe?user=" + "Ab-_9" * 16,
)
SENDER = Address("Bots & Büros", addr_spec="news@bots.example")
Tls = Literal["starttls", "tls", "none"]


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    return trusted(tmp_path, monkeypatch)


def access(
    port: int, tls: Tls = "starttls", *, password: str | None = None, seconds: float = 60
) -> MailAccess:
    username = USERNAME if password is not None else None
    return MailAccess(HOST, port, tls, username, password, SENDER, "bots.example", seconds)


def send(given: MailAccess, mail: Mail | None = MAIL) -> bool:
    return run(MailServer(given, FakeClock(NOW_MS)).send("users/1", lambda: mail))


def failed(given: MailAccess) -> Failure:
    with pytest.raises(NotSent) as error:
        send(given)
    return error.value.failure


def test_a_mail_arrives_over_starttls_as_it_was_written(authority: Authority) -> None:
    with receiving_mail(starttls=authority.server(HOST)) as receiver:
        assert send(access(receiver.port)) is True
    (mail,) = receiver.mails
    assert mail.is_encrypted
    assert (mail.sender, mail.recipients) == ("news@bots.example", ["ada@example.com"])
    assert mail.text.replace("\r\n", "\n") == MAIL.text
    told = {name: str(mail.message[name]) for name in ("From", "To", "Subject", "Message-ID")}
    assert told == {
        "From": "Bots & Büros <news@bots.example>",
        "To": "ada@example.com",
        "Subject": MAIL.subject,
        "Message-ID": f"<{MAIL.key}@bots.example>",
    }
    assert receiver.hellos[-1] == "bots.example"


def test_a_mail_has_one_button_for_mail_programs_and_asks_for_no_answer(authority: Authority) -> None:
    with receiving_mail(tls=authority.server(HOST)) as receiver:
        assert send(access(receiver.port, "tls")) is True
    (mail,) = receiver.mails
    as_sent = dict(mail.message.raw_items())  # mail programs decode nothing in it
    assert as_sent["List-Unsubscribe"] == f"<{MAIL.unsubscribe_url}>"
    assert mail.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert mail.message["Auto-Submitted"] == "auto-generated"


def test_a_server_that_asks_for_a_sign_in_gets_it(authority: Authority) -> None:
    with receiving_mail(starttls=authority.server(HOST), asks_sign_in=True) as receiver:
        assert send(access(receiver.port, password=PASSWORD)) is True
        assert receiver.mails[0].is_signed_in
        wrong = failed(access(receiver.port, password="another"))
        assert (wrong.error, wrong.is_final) == ("sign_in_refused", False)
    assert len(receiver.mails) == 1


@pytest.mark.parametrize("tls", ["starttls", "tls"])
@pytest.mark.parametrize("wrong", ["other name", "self-signed", "expired"])
def test_a_certificate_that_is_not_the_server_s_gets_no_mail(
    authority: Authority, tls: Tls, wrong: str
) -> None:
    name = "other.example" if wrong == "other name" else HOST
    context = authority.server(name, expired=wrong == "expired", self_signed=wrong == "self-signed")
    starttls, at_once = (context, None) if tls == "starttls" else (None, context)
    with receiving_mail(starttls=starttls, tls=at_once) as receiver:
        failure = failed(access(receiver.port, tls, password=PASSWORD))
    assert (failure.error, failure.is_final, receiver.mails) == ("tls", False, [])


def test_a_server_without_tls_gets_neither_password_nor_mail() -> None:
    with receiving_mail() as receiver:
        assert not failed(access(receiver.port, password=PASSWORD)).is_final
    assert receiver.mails == []


def test_a_mail_that_is_not_due_any_more_is_not_sent() -> None:
    with receiving_mail() as receiver:
        assert send(access(receiver.port, "none"), mail=None) is False
    assert receiver.mails == []


@pytest.mark.parametrize(("answer", "is_final"), [("550 No such user", True), ("450 Come back later", False)])
def test_a_recipient_that_is_refused_for_good_is_given_up(answer: str, is_final: bool) -> None:
    with receiving_mail() as receiver:
        receiver.refused.append(answer)
        failure = failed(access(receiver.port, "none"))
    assert failure == Failure("recipient_refused", int(answer[:3]), is_final=is_final)


@pytest.mark.parametrize(("answer", "is_final"), [("554 Spam", True), ("452 Disk full", False)])
def test_a_mail_that_is_refused_for_good_is_given_up(answer: str, is_final: bool) -> None:
    with receiving_mail() as receiver:
        receiver.answers.append(answer)
        failure = failed(access(receiver.port, "none"))
    assert failure == Failure("mail_refused", int(answer[:3]), is_final=is_final)


def test_a_server_that_is_away_is_tried_again() -> None:
    with socket.create_server((HOST, 0)) as closed:
        port = closed.getsockname()[1]
    assert failed(access(port, "none")) == Failure("unreachable")


@pytest.fixture
def silent() -> Iterator[int]:
    """A server that accepts connections and says nothing."""
    with socket.create_server((HOST, 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize("tls", ["none", "starttls", "tls"])
def test_a_server_that_hangs_holds_an_attempt_for_the_timeout_alone(silent: int, tls: Tls) -> None:
    assert failed(access(silent, tls, seconds=0.1)) == Failure("timeout")


def test_a_server_that_hangs_lets_everything_else_go_on(silent: int) -> None:
    async def main() -> int:
        server, turns = MailServer(access(silent, "none", seconds=0.2), FakeClock(NOW_MS)), 0
        sending = asyncio.create_task(server.send("users/1", lambda: MAIL))
        while not sending.done():
            await asyncio.sleep(0)
            turns += 1
        assert isinstance(sending.exception(), NotSent)
        return turns

    assert run(main()) > 100


@pytest.mark.parametrize("goodbye", ["rude", "late"])
def test_after_the_acceptance_nothing_makes_a_mail_fail(
    goodbye: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mail.mail_server.GOODBYE_SECONDS", 0.1)

    class Leaving(MailReceiver):
        async def handle_QUIT(self, _: object, __: object, ___: object) -> str:  # noqa: N802
            if goodbye == "late":
                await asyncio.Event().wait()
            return "500 Never"

    with receiving_mail(make=Leaving) as receiver:
        assert send(access(receiver.port, "none")) is True
    assert len(receiver.mails) == 1


def test_a_probe_signs_in_and_sends_nothing(authority: Authority) -> None:
    with receiving_mail(starttls=authority.server(HOST), asks_sign_in=True) as receiver:
        run(MailServer(access(receiver.port, password=PASSWORD), FakeClock(NOW_MS)).probe())
        with pytest.raises(NotSent, match="sign_in_refused"):
            run(MailServer(access(receiver.port, password="another"), FakeClock(NOW_MS)).probe())
    assert receiver.mails == []


@given(text=st.text(max_size=40), break_=st.sampled_from(["\r\n", "\n", "\r"]))
def test_no_name_or_address_begins_another_header(text: str, break_: str) -> None:
    hostile = f"{text}{break_}Bcc: eve@example.com"
    for changed in (
        MAIL._replace(subject=hostile),
        MAIL._replace(to=f"ada@example.com{break_}Bcc: eve@example.com"),
        MAIL._replace(unsubscribe_url=hostile),
        MAIL._replace(key=hostile),
    ):
        with pytest.raises(ValueError, match=r"linefeed|invalid|Invalid|quoted|empty|header"):
            written(changed, access(1), NOW_MS)
