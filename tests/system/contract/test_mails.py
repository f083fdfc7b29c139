"""E-mails to owners who want them, over sockets: the choice, the mails, and turning them off.

The mail server is a real one, with TLS.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from core.user_rows import MailChoice, user_ref
from tests.support.certificate_authority import trusted
from tests.support.contract import deliveries, set_webhook, users
from tests.support.folder_bytes import bytes_of
from tests.support.gateways import BOT, BOT_SUBMISSION, eventually
from tests.support.mail_receiver import HOST, PASSWORD, USERNAME, MailReceiver, Received, receiving_mail
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person, serving
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, decided_at
from tests.support.scraped import scraped
from tests.support.webhook_receiver import Receiver, status

ADDRESS = "ada@example.com"


@pytest.fixture
def mailbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailReceiver]:
    (tmp_path / "certificates").mkdir()
    authority = trusted(tmp_path / "certificates", monkeypatch)
    with receiving_mail(starttls=authority.server(HOST), asks_sign_in=True) as receiver:
        yield receiver


def sending(mailbox: MailReceiver) -> dict[str, object]:
    return {
        "mail.host": HOST,
        "mail.port": mailbox.port,
        "mail.username": USERNAME,
        "mail.password": PASSWORD,
        "mail.from_address": "news@bots.example",
        "mail.timeout_seconds": 60,
        "web.keep_email": True,
        "webhooks.allow_private_targets": True,
        "webhooks.allow_http": True,
        "webhooks.retries": 0,
    }


@pytest.fixture
def gateway(tmp_path: Path, mailbox: MailReceiver) -> Iterator[PeopleGateway]:
    """A gateway with a mail server, and a bot of Ada's."""
    with serving(tmp_path / "data", **sending(mailbox)) as gateway:
        gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
        yield gateway


def chosen(person: Person, user: str, *topics: str) -> str:
    """Choose topics, pass the platform if that is asked, and return the page of notices."""
    answer = person.post("/me/mail", {"topic": list(topics)})
    assert answer.status_code == 303, answer.text
    if answer.headers["Location"].startswith("http"):
        answer = person.come_back(decided_at(answer.headers["Location"], user))
    assert answer.headers["Location"] == "/me/notices"
    return person.page("/me/notices")


def choice(gateway: PeopleGateway, user: str = ADA) -> MailChoice | None:
    row = gateway.gateway.ledger.state.users.get(user_ref(user))
    return row.mail if row is not None else None


def decide(gateway: PeopleGateway, decision: str = "deny") -> None:
    gateway.advance(1)
    body = {"reason": "It is silent."} if decision != "approve" else {}
    gateway.done("POST", f"/manage/bots/{BOT}/{decision}", body)


def received(mailbox: MailReceiver, number: int = 1) -> Received:
    eventually(lambda: len(mailbox.mails) == number)
    return mailbox.mails[-1]


def test_an_address_is_kept_only_for_a_user_who_chose_mails(gateway: PeopleGateway) -> None:
    ada = gateway.person(ADA)
    assert choice(gateway) is None
    told = chosen(ada, ADA, "decisions")
    assert f"E-mails go to {ADDRESS}" in words(told)
    known = choice(gateway)
    assert known is not None
    assert (known.address, known.topics) == (ADDRESS, ("decisions",))
    assert ada.get("/me/data.json").json()["account"]["mail"]["address"] == ADDRESS
    gateway.advance(1)
    assert "You get no e-mails any more." in words(chosen(ada, ADA))
    ended = choice(gateway)
    assert ended is not None
    assert (ended.address, ended.topics) == (None, ())


def test_a_decision_arrives_as_a_mail_with_a_link_and_a_way_to_turn_it_off(
    gateway: PeopleGateway, mailbox: MailReceiver
) -> None:
    chosen(gateway.person(ADA), ADA, "decisions")
    decide(gateway)
    mail = received(mailbox)
    assert (mail.recipients, mail.is_encrypted, mail.is_signed_in) == ([ADDRESS], True, True)
    assert mail.message["Subject"] == "Test bot is denied · Votegate"
    assert "It is silent." in mail.text
    assert f"{gateway.base_url}/bots/{BOT}/manage" in mail.text
    assert mail.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    eventually(lambda: scraped(gateway).value("mail_attempts_total", outcome="delivered", error="none") == 1)


def unsubscribing(mail: Received) -> str:
    """Return the address of the mail program's own button."""
    found = re.fullmatch(r"<(\S+)>", str(mail.message["List-Unsubscribe"]))
    assert found is not None
    return found[1]


@pytest.mark.parametrize("form", ["urlencoded", "multipart"])
def test_one_click_of_a_mail_program_turns_mails_off_without_a_session(
    gateway: PeopleGateway, mailbox: MailReceiver, form: str
) -> None:
    chosen(gateway.person(ADA), ADA, "decisions", "webhooks")
    decide(gateway, "approve")
    address = unsubscribing(received(mailbox))
    fields = {"List-Unsubscribe": "One-Click"}
    gateway.advance(1)
    if form == "urlencoded":
        answer = requests.post(address, data=fields, allow_redirects=False, timeout=60)
    else:
        parts = {name: (None, value) for name, value in fields.items()}
        answer = requests.post(address, files=parts, allow_redirects=False, timeout=60)
    assert answer.status_code == 200, "a mail program follows no redirect"
    ended = choice(gateway)
    assert ended is not None
    assert (ended.topics, ended.address) == ((), None)
    decide(gateway, "withdraw")
    assert scraped(gateway).value("mail_attempts_total", outcome="delivered", error="none") == 1
    assert requests.post(address, data=fields, timeout=60).status_code == 200, "a second press is no error"


def test_the_page_of_the_link_has_one_button_and_a_get_changes_nothing(
    gateway: PeopleGateway, mailbox: MailReceiver
) -> None:
    chosen(gateway.person(ADA), ADA, "decisions")
    decide(gateway)
    path = unsubscribing(received(mailbox)).removeprefix(gateway.base_url)
    stranger = gateway.person(None)
    shown = stranger.page(path)
    assert "Turn e-mails off?" in words(shown)
    known = choice(gateway)
    assert known is not None
    assert known.topics == ("decisions",)
    gateway.advance(1)
    answer = stranger.post(path)
    assert "E-mails are off" in words(answer.text)
    ended = choice(gateway)
    assert ended is not None
    assert ended.topics == ()


def test_a_link_that_is_changed_or_too_old_turns_nothing_off(
    gateway: PeopleGateway, mailbox: MailReceiver
) -> None:
    chosen(gateway.person(ADA), ADA, "decisions")
    decide(gateway)
    path = unsubscribing(received(mailbox)).removeprefix(gateway.base_url)
    stranger = gateway.person(None)
    for wrong in (path[:-2], "/unsubscribe", f"/unsubscribe?user={ADA}"):
        assert stranger.get(wrong).status_code == 400
        assert stranger.post(wrong).status_code == 400
    gateway.advance(366 * 86_400)
    assert stranger.post(path).status_code == 400
    known = choice(gateway)
    assert known is not None
    assert known.topics == ("decisions",)


def test_a_user_without_a_confirmed_address_reads_what_to_do(gateway: PeopleGateway) -> None:
    told = chosen(gateway.person(DAN), DAN, "decisions")
    assert "Your e-mail address is not known." in words(told)
    known = choice(gateway, DAN)
    assert known is not None
    assert known.address is None


def test_moderators_alone_can_choose_mails_about_reports(gateway: PeopleGateway) -> None:
    ada, cleo = gateway.person(ADA), gateway.person(CLEO)
    assert "reports" not in ada.page("/me/notices")
    assert "You get no e-mails" in words(chosen(ada, ADA, "reports"))
    chosen(cleo, CLEO, "reports")
    known = choice(gateway, CLEO)
    assert known is not None
    assert known.topics == ("reports",)


def test_an_endpoint_that_is_suspended_is_a_mail_and_a_notice(
    gateway: PeopleGateway, mailbox: MailReceiver, receiver: Receiver
) -> None:
    gateway.done("POST", f"/manage/bots/{BOT}/approve", {})
    set_webhook(gateway, receiver.url)
    ada = gateway.person(ADA)
    chosen(ada, ADA, "webhooks")
    receiver.default = status(500)
    for user in users(10):
        gateway.cast(user)
        gateway.advance(0.001)
    eventually(lambda: all(row["attempts"] for row in deliveries(gateway)))
    mail = received(mailbox)
    assert mail.message["Subject"] == "The webhook of Test bot fails · Votegate"
    assert "http_500" in mail.text
    told = words(ada.page("/me/notices"))
    assert "The webhook of Test bot keeps failing." in told


def test_a_report_is_a_mail_to_a_moderator(gateway: PeopleGateway, mailbox: MailReceiver) -> None:
    gateway.done("POST", f"/manage/bots/{BOT}/approve", {})
    chosen(gateway.person(CLEO), CLEO, "reports")
    gateway.advance(1)
    gateway.person(BEN).acted(f"/bots/{BOT}/report", {"reason": "breaks_rules", "text": "It insults people."})
    mail = received(mailbox)
    assert (mail.recipients, mail.message["Subject"]) == (["cleo@example.com"], "New reports · Votegate")
    assert "* Test bot" in mail.text
    assert f"{gateway.base_url}/review?show=reported" in mail.text
    assert "insults" not in mail.text


def test_a_mail_that_could_not_be_sent_leaves_after_a_restart(
    gateway: PeopleGateway, mailbox: MailReceiver
) -> None:
    chosen(gateway.person(ADA), ADA, "decisions")
    mailbox.answers = ["451 Later"]
    decide(gateway)
    outcome = {"outcome": "retry", "error": "mail_refused"}
    eventually(lambda: scraped(gateway).value("mail_attempts_total", **outcome) == 1)
    gateway.restart(seconds_down=60)
    assert received(mailbox).message["Subject"] == "Test bot is denied · Votegate"


def sent(gateway: PeopleGateway) -> float:
    """Return the number of mails that the server has taken, as the gateway counts them."""
    return scraped(gateway).value("mail_attempts_total", outcome="delivered", error="none")


def test_an_erased_user_gets_no_mail_and_no_address_is_left_anywhere(
    gateway: PeopleGateway, mailbox: MailReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    ada = gateway.person(ADA)
    chosen(ada, ADA, "decisions")
    decide(gateway, "approve")
    received(mailbox)
    eventually(lambda: sent(gateway) == 1)
    ada.acted("/me/data", {"word": "erase"})
    assert choice(gateway) is None
    decide(gateway, "withdraw")
    assert sent(gateway) == 1
    logged = [each.getMessage() for each in caplog.records if each.name != "mail.log"]  # that of the server
    assert logged
    assert not any(secret in line for line in logged for secret in (ADDRESS, PASSWORD))
    assert not any(ADDRESS.encode() in content for content in bytes_of(gateway.folder).values())


def test_without_a_mail_server_no_page_offers_mails_and_known_addresses_go(
    tmp_path: Path, mailbox: MailReceiver
) -> None:
    folder = tmp_path / "data"
    with serving(folder, **sending(mailbox)) as gateway:
        chosen(gateway.person(ADA), ADA, "decisions")
    with serving(folder) as gateway:
        eventually(lambda: getattr(choice(gateway), "address", "") is None)
        ada = gateway.person(ADA)
        assert "E-mails about" not in ada.page("/me/notices")
        assert "You get no e-mails" in words(chosen(ada, ADA, "decisions"))
