"""chatplatform/answers.py: the facts of documented answers, and of any others."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatplatform.answers import (
    MOST_CHARACTERS,
    MOST_SERVERS,
    ApplicationReach,
    PlatformApplication,
    PlatformInvite,
    PlatformServer,
    PlatformUser,
    read_application,
    read_channel,
    read_code,
    read_invite,
    read_reach,
    read_servers,
    read_user,
)
from tests.support.examples import examples
from tests.support.odd_answers import altered, anything
from tests.support.sample_rows import OTHER_USER, USER

HASH = "8342729096ea3675442027381ff50dfe"
USER_ANSWER: dict[str, Any] = {
    "id": USER,
    "username": "nelly",
    "discriminator": "0",
    "global_name": "Nelly",
    "avatar": HASH,
    "verified": True,
    "email": "nelly@example.com",
    "flags": 64,
    "locale": "pt-BR",
    "mfa_enabled": True,
}
SERVER_ANSWER: dict[str, Any] = {
    "id": USER,
    "name": "1337 Krew",
    "icon": f"a_{HASH}",
    "banner": None,
    "owner": True,
    "permissions": "36953089",
    "features": ["COMMUNITY", "NEWS"],
    "approximate_member_count": 3268,
}
APPLICATION_ANSWER: dict[str, Any] = {
    "id": USER,
    "name": "Baba",
    "icon": HASH,
    "description": "Test",
    "bot_public": True,
    "bot_require_code_grant": False,
    "flags": 1 << 23,
}


# -- As documented ----------------------------------------------------------------------------------------


def test_a_user_is_read() -> None:
    user = PlatformUser(USER, "nelly", "Nelly", HASH, "pt-BR", "nelly@example.com")
    assert read_user(USER_ANSWER) == user


@pytest.mark.parametrize("missing", ["global_name", "avatar", "locale", "email"])
def test_a_user_may_lack_everything_but_id_and_name(missing: str) -> None:
    for answer in ({**USER_ANSWER, missing: None}, {k: v for k, v in USER_ANSWER.items() if k != missing}):
        user = read_user(answer)
        assert user is not None
        field = {"global_name": "display_name"}.get(missing, missing)
        assert getattr(user, field) is None


@pytest.mark.parametrize("missing", ["id", "username"])
def test_without_id_or_name_there_is_no_user(missing: str) -> None:
    assert read_user({k: v for k, v in USER_ANSWER.items() if k != missing}) is None


def test_a_server_is_read() -> None:
    server = PlatformServer(USER, "1337 Krew", f"a_{HASH}", True, True, "yes", 3268, "yes")
    assert read_servers([SERVER_ANSWER]) == (server,)


@pytest.mark.parametrize(
    ("owner", "permissions", "may"),
    [(True, "0", True), (False, "8", True), (False, "32", True), (False, 32, True), (False, "16", False)],
)
def test_a_server_is_managed_by_its_owner_by_administrators_and_with_the_right_to_manage_it(
    owner: bool, permissions: object, may: bool
) -> None:
    (server,) = read_servers([{**SERVER_ANSWER, "owner": owner, "permissions": permissions}]) or ()
    assert (server.is_owned, server.may_manage) == (owner, may)


@pytest.mark.parametrize("owner", ["true", 1, None, [True]])
@pytest.mark.parametrize("permissions", ["-1", "0x20", "32.0", "٣٢", True, 32.0, None, "9" * 5_000])
def test_what_is_no_right_gives_none(owner: object, permissions: object) -> None:
    (server,) = read_servers([{**SERVER_ANSWER, "owner": owner, "permissions": permissions}]) or ()
    assert (server.is_owned, server.may_manage) == (False, False)


@pytest.mark.parametrize(
    ("features", "answer"),
    [(["COMMUNITY"], "yes"), ([], "no"), (["community"], "no"), (None, "unknown"), ("COMMUNITY", "unknown")],
)
def test_a_community_is_known_where_the_features_are(features: object, answer: str) -> None:
    (server,) = read_servers([{**SERVER_ANSWER, "features": features}]) or ()
    assert server.has_community == answer


def test_servers_that_cannot_be_told_apart_are_left_out() -> None:
    unnamed, other = {**SERVER_ANSWER, "name": "  "}, {**SERVER_ANSWER, "id": OTHER_USER}
    servers = read_servers([7, unnamed, other, {**other, "name": "again"}, {"id": "1"}])
    assert servers is not None
    assert [(server.id, server.name) for server in servers] == [(OTHER_USER, "again")]
    assert read_servers({"0": SERVER_ANSWER}) is None
    many = [{**SERVER_ANSWER, "id": str(10**17 + number)} for number in range(1_000)]
    assert len(read_servers(many) or ()) == MOST_SERVERS


def test_an_application_is_read() -> None:
    application = PlatformApplication(USER, "Baba", HASH, "Test", "yes", "yes")
    assert read_application(APPLICATION_ANSWER, USER) == application
    assert read_application(APPLICATION_ANSWER, OTHER_USER) is None


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        ({"bot_public": True, "bot_require_code_grant": False}, "yes"),
        ({"bot_public": False, "bot_require_code_grant": False}, "no"),
        ({"bot_public": True, "bot_require_code_grant": True}, "no"),
        ({"bot_public": True}, "unknown"),
        ({"bot_require_code_grant": False}, "unknown"),
        ({"bot_public": "true", "bot_require_code_grant": 0}, "unknown"),
        ({}, "unknown"),  # an application without a bot, or a platform that no longer says it
    ],
)
def test_whether_everybody_may_add_a_bot(fields: dict[str, object], answer: str) -> None:
    shown = {k: v for k, v in APPLICATION_ANSWER.items() if not k.startswith("bot_")} | fields
    application = read_application(shown, USER)
    assert application is not None
    assert application.is_inviteable == answer


@pytest.mark.parametrize(
    ("flags", "flags_new", "answer"),
    [
        (1 << 23, None, "yes"),
        (1 << 22, None, "no"),
        (0, str((1 << 40) | (1 << 23)), "yes"),
        (1 << 23, "0", "no"),
        ("text", None, "unknown"),
        (None, None, "unknown"),
        (True, None, "unknown"),
        (1.5, [], "unknown"),
    ],
)
def test_whether_a_bot_has_slash_commands(flags: object, flags_new: object, answer: str) -> None:
    application = read_application({**APPLICATION_ANSWER, "flags": flags, "flags_new": flags_new}, USER)
    assert application is not None
    assert application.has_commands == answer


def test_names_are_one_line_that_can_be_read_and_not_too_long() -> None:
    application = read_application({**APPLICATION_ANSWER, "name": " a\n\u202eb\x00 " + "c" * 9_999}, USER)
    assert application is not None
    assert application.name.startswith("a  b  c")
    assert len(application.name) <= MOST_CHARACTERS


# -- Anything ---------------------------------------------------------------------------------------------


@examples(500)
@given(anything | altered(USER_ANSWER))
def test_no_answer_about_a_user_raises(answer: Any) -> None:
    user = read_user(answer)
    assert user is None or user.id == answer["id"]


@examples(500)
@given(anything | st.lists(altered(SERVER_ANSWER), max_size=3))
def test_no_answer_about_servers_raises_or_gives_a_right_that_it_does_not_state(answer: Any) -> None:
    for server in read_servers(answer) or ():
        told = [each for each in answer if isinstance(each, dict) and each.get("id") == server.id]
        assert server.is_owned <= any(each.get("owner") is True for each in told)
        assert server.may_manage <= any(
            each.get("owner") is True or str(each.get("permissions", "")).isdigit() for each in told
        )
        if server.has_community == "yes":
            features = [each.get("features") for each in told]
            assert any(isinstance(each, list) and "COMMUNITY" in each for each in features)


@examples(500)
@given(anything | altered(APPLICATION_ANSWER))
def test_no_answer_about_an_application_raises_or_gives_a_yes_that_it_does_not_state(answer: Any) -> None:
    application = read_application(answer, USER)
    if application is not None:
        assert answer["id"] == USER
        if application.is_inviteable == "yes":
            assert (answer["bot_public"], answer["bot_require_code_grant"]) == (True, False)
        if application.has_commands == "yes":
            stated = [answer.get(name) for name in ("flags", "flags_new")]
            assert any(int(each) & (1 << 23) for each in stated if isinstance(each, int | str))


REACH_ANSWER = {"id": USER, "approximate_guild_count": 7, "directory_entry": {"guild_count": 1_200}}


@examples(200)
@given(anything | altered(REACH_ANSWER))
def test_no_answer_makes_up_a_count_of_servers(answer: Any) -> None:
    reach = read_reach(answer, USER)
    if reach is not None:
        assert answer["id"] == USER
        entry = answer.get("directory_entry")
        stated = [answer.get("approximate_guild_count"), *(entry.values() if isinstance(entry, dict) else ())]
        assert reach.servers is None or reach.servers in stated


def test_the_directory_s_count_is_read_before_the_application_s_own() -> None:
    assert read_reach(REACH_ANSWER, USER) == ApplicationReach(USER, 1_200)
    assert read_reach({**REACH_ANSWER, "directory_entry": None}, USER) == ApplicationReach(USER, 7)
    for nonsense in (True, -1, 1.5, "7", 1 << 53):
        assert read_reach({"id": USER, "approximate_guild_count": nonsense}, USER) == ApplicationReach(USER)
    assert read_reach(REACH_ANSWER, OTHER_USER) is None


@examples(200)
@given(anything | altered({"id": USER, "code": 50_007}))
def test_no_answer_makes_up_a_channel_or_a_number(answer: Any) -> None:
    channel, code = read_channel(answer), read_code(answer)
    assert channel is None or channel == answer["id"]
    assert code == 0 or code == answer["code"]


INVITE_ANSWER: dict[str, Any] = {
    "type": 0,
    "code": "abc123",
    "guild": {"id": USER, "name": "1337 Krew"},
    "expires_at": None,
    "approximate_member_count": 3_268,
    "approximate_presence_count": 120,
}


def test_an_invite_is_read() -> None:
    assert read_invite(INVITE_ANSWER) == PlatformInvite(USER, "no", 3_268, 120)
    ending = {**INVITE_ANSWER, "expires_at": "2026-12-31T12:00:00+00:00"}
    assert read_invite(ending) == PlatformInvite(USER, "yes", 3_268, 120)
    unsaid = {name: value for name, value in INVITE_ANSWER.items() if name != "expires_at"}
    assert read_invite(unsaid) == PlatformInvite(USER, "unknown", 3_268, 120)
    assert read_invite({**INVITE_ANSWER, "guild": None}) == PlatformInvite(None, "no", 3_268, 120)
    assert read_invite({"message": "Unknown Invite", "code": 10_006}) is None


@examples(200)
@given(anything | altered(INVITE_ANSWER))
def test_no_answer_makes_up_an_invite_that_never_expires(answer: Any) -> None:
    invite = read_invite(answer)
    if invite is not None:
        assert isinstance(answer["code"], str)
        assert invite.server_id is None or invite.server_id == answer["guild"]["id"]
        assert (invite.expires == "no") == ("expires_at" in answer and answer["expires_at"] is None)
        assert invite.members is None or invite.members == answer["approximate_member_count"]


def test_the_id_of_a_channel_and_the_number_of_an_error_are_read() -> None:
    assert (read_channel({"id": USER, "type": 1}), read_channel({"type": 1})) == (USER, None)
    assert (read_code({"message": "no", "code": 50_007}), read_code({"message": "no"})) == (50_007, 0)


def test_deep_answers_are_read_too() -> None:
    deep = json.loads("[" * 500 + "]" * 500)
    assert read_user(deep) is None
    assert read_servers(deep) == ()
    assert read_application({**APPLICATION_ANSWER, "flags": deep}, USER) is not None
