"""pages/visitors.py: a session is known by its value alone, and survives a restart; a visitor has limits."""

from pathlib import Path

import pytest

from core.actors import OPERATOR, user_actor
from core.events import UserSignedIn
from core.ledger import Ledger
from core.rows import Policy
from core.user_rows import UserProfile, UserSession, user_ref
from handlers.reply import reply_to
from handlers.visitor_limit import VisitorLimit
from pages.visitors import Face, faces_of
from people.quarantine import impose
from ratelimit.bucket import TooManyRequests
from tests.support.fake_clock import FakeClock
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person, serving
from tests.support.people_scene import SESSION
from tests.support.platform_stand_in import ADA, BEN
from tests.support.sample_rows import NOW_MS, OTHER_USER, OWNER, USER


def test_a_session_survives_a_restart_and_its_value_is_nowhere_on_disk(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as gateway:
        ada = gateway.person(ADA)
        value = ada.cookies[SESSION]
        gateway.stop()
        gateway.start()
        assert ada.get("/me").status_code == 200
        assert value not in str(gateway.gateway.ledger.state.users[f"users/{ADA}"])
        assert not any(value.encode() in path.read_bytes() for path in (tmp_path / "data").rglob("*"))


def test_only_the_value_of_a_session_lets_in(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as gateway:
        ada = gateway.person(ADA)
        digest = next(iter(gateway.gateway.ledger.state.users.by_session))
        for wrong in ("", "x", "x" * 43, digest, ada.cookies[SESSION][:-1], ada.cookies[SESSION] + "x"):
            thief = gateway.person(None)
            thief.cookies[SESSION] = wrong
            assert thief.get("/me").status_code == 303


def test_a_new_sign_in_ends_the_session_before_and_a_sign_out_ends_this_one(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as gateway:
        ada = gateway.person(ADA)
        stolen = copied(gateway, ada)
        ada.sign_in_as(BEN)
        assert stolen.get("/me").status_code == 303
        stolen = copied(gateway, ada)
        ada.post("/signout")
        assert stolen.get("/me").status_code == 303
        assert SESSION not in ada.cookies


def test_who_may_not_sign_in_is_told_why(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as gateway:
        ada = gateway.person(ADA)
        now_ms, ledger = gateway.clock.now_ms(), gateway.gateway.ledger
        forbidden = impose(ledger.state, ADA, "sign_in", "Bought votes.", None, now_ms, by=OPERATOR)
        gateway.on_loop(lambda: ledger.commit(forbidden))
        assert ada.get("/me").status_code == 303
        refused = ada.sign_in_as(ADA)
        assert refused.status_code == 403
        assert "Bought votes." in words(refused.text)


def copied(gateway: PeopleGateway, person: Person) -> Person:
    """A thief's browser, with the person's cookie."""
    thief = gateway.person(None)
    thief.cookies[SESSION] = person.cookies[SESSION]
    return thief


def test_who_acts_too_often_is_refused_until_the_window_ends_and_others_are_not() -> None:
    clock = FakeClock(NOW_MS)
    limit = VisitorLimit(Policy(2, 60), clock)
    limit.take(USER)
    limit.take(USER)
    with pytest.raises(TooManyRequests) as refused:
        limit.take(USER)
    reply = reply_to(refused.value)
    assert reply.limits is not None
    assert (reply.status, reply.limits.reset_seconds) == (429, 60)
    limit.take(OTHER_USER)
    clock.advance(60)
    limit.take(USER)


def test_users_have_the_names_they_signed_in_with(ledger: Ledger) -> None:
    for user, profile in ((USER, UserProfile("ada", "Ada L.", "a_1")), (OWNER, UserProfile("ben"))):
        session = UserSession(user, "Firefox", NOW_MS, NOW_MS)
        ledger.commit([UserSignedIn(user_ref(user), profile, session, (), by=user_actor(user))])
    faces = faces_of(ledger.state, "https://cdn.example", (USER, OWNER, OTHER_USER))
    assert {user: face.name for user, face in faces.items()} == {USER: "Ada L.", OWNER: "ben"}
    assert faces[OWNER] == Face(OWNER, "ben", "https://cdn.example/embed/avatars/0.png")
    assert faces[USER].avatar_url == f"https://cdn.example/avatars/{USER}/a_1.png?size=128"
