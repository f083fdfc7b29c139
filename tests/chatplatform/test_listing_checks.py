"""chatplatform/listing_checks.py: each condition alone, and no yes that no answer states."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatplatform.answers import (
    MOST_CHANNELS,
    Answer,
    InnerServer,
    PlatformApplication,
    PlatformServer,
    ServerChannel,
    created_ms,
    read_inner_server,
    read_server_channels,
    read_servers,
)
from chatplatform.listing_checks import (
    DAY_MS,
    MOST_NAMED,
    ServerConditions,
    ServerFacts,
    obstacles,
    server_checks,
)
from core.rows import CheckOutcome, Eligibility, ServerCheck
from tests.support.examples import examples
from tests.support.odd_answers import altered, anything

SERVER_ID = "300000000000000001"
NOW_MS = created_ms(SERVER_ID) + 100 * DAY_MS
HASH = "8342729096ea3675442027381ff50dfe"
VIEW, ADMINISTRATOR, CONNECT = 1 << 10, 1 << 3, 1 << 20
SEEN: dict[str, Any] = {
    "id": SERVER_ID,
    "name": "Workshop",
    "icon": HASH,
    "features": ["COMMUNITY"],
    "approximate_member_count": 250,
    "owner": True,
    "permissions": "0",
}
INSIDE: dict[str, Any] = {
    "id": SERVER_ID,
    "name": "Workshop",
    "icon": HASH,
    "features": ["COMMUNITY", "NEWS"],
    "owner_id": "444444444444444444",
    "mfa_level": 1,
    "nsfw_level": 0,
    "approximate_member_count": 260,
    "roles": [
        {"id": "300000000000000009", "permissions": "8"},
        {"id": SERVER_ID, "permissions": str(VIEW | CONNECT)},
    ],
}
CHANNEL: dict[str, Any] = {"id": "1", "name": "talk", "type": 0, "nsfw": False, "permission_overwrites": []}


def overwrite(whose: str = SERVER_ID, *, allow: object = "0", deny: object = "0") -> dict[str, Any]:
    return {"id": whose, "type": 0, "allow": allow, "deny": deny}


def facts_of(seen: object, inside: object, channels: object) -> ServerFacts:
    """Return the facts of three answers, as the program reads them."""
    servers = read_servers(seen) or ()
    inner = read_inner_server(inside, SERVER_ID)
    return ServerFacts(
        next((server for server in servers if server.id == SERVER_ID), None),
        NOW_MS - 2,
        inner,
        read_server_channels(channels, inner) if inner is not None else None,
        NOW_MS - 1,
    )


def checks_of(facts: ServerFacts, conditions: ServerConditions | None = None) -> dict[str, ServerCheck]:
    checks = server_checks(conditions or ServerConditions(), SERVER_ID, facts, NOW_MS)
    return {check.name: check for check in checks}


def outcomes(checks: dict[str, ServerCheck]) -> dict[str, CheckOutcome]:
    return {name: check.outcome for name, check in checks.items()}


def nsfw_check(
    *channels: object, inside: dict[str, Any] = INSIDE, conditions: ServerConditions | None = None
) -> ServerCheck:
    return checks_of(facts_of([SEEN], inside, [*channels]), conditions)["nsfw"]


# -- Each condition ---------------------------------------------------------------------------------------


def test_a_server_that_meets_every_condition_passes() -> None:
    checks = checks_of(facts_of([SEEN], INSIDE, [CHANNEL]))
    assert set(outcomes(checks).values()) == {"pass"}
    assert [*checks] == ["members", "age", "icon", "two_factor", "community", "nsfw"]
    assert [(check.have, check.need) for check in checks.values()] == [
        *((260, 100), (100, 14), (1, 1), (1, 1), (1, 1), (0, 0))
    ]
    assert Eligibility(NOW_MS, tuple(checks.values())).outcome == "pass"


def test_the_answer_of_the_user_is_enough_for_all_but_two_factor_and_nsfw() -> None:
    checks = checks_of(facts_of([SEEN], None, None))
    assert [name for name, check in checks.items() if check.outcome == "unknown"] == ["two_factor", "nsfw"]
    assert checks["members"].have == 250
    assert {check.outcome for check in checks.values()} == {"pass", "unknown"}
    assert Eligibility(NOW_MS, tuple(checks.values())).outcome == "unknown"


def test_the_age_is_known_of_the_id_alone() -> None:
    checks = checks_of(ServerFacts())
    assert [name for name, check in checks.items() if check.outcome != "unknown"] == ["age"]


@pytest.mark.parametrize(
    ("condition", "change"),
    [
        ("members", {"approximate_member_count": 99}),
        ("icon", {"icon": None}),
        ("two_factor", {"mfa_level": 0}),
        ("community", {"features": ["NEWS"]}),
        ("nsfw", {"nsfw_level": 1}),
        ("nsfw", {"nsfw_level": 3}),
    ],
)
def test_one_condition_that_is_not_met_fails_alone(condition: str, change: dict[str, Any]) -> None:
    checks = checks_of(facts_of([SEEN], {**INSIDE, **change}, [CHANNEL]))
    assert [name for name, check in checks.items() if check.outcome != "pass"] == [condition]
    assert Eligibility(NOW_MS, tuple(checks.values())).outcome == "fail"


@pytest.mark.parametrize(("members", "outcome"), [(99, "fail"), (100, "pass")])
def test_the_threshold_of_members_is_met_exactly(members: int, outcome: str) -> None:
    checks = checks_of(facts_of([{**SEEN, "approximate_member_count": members}], None, None))
    assert (checks["members"].outcome, checks["members"].have) == (outcome, members)


@pytest.mark.parametrize(("age_ms", "outcome"), [(14 * DAY_MS - 1, "fail"), (14 * DAY_MS, "pass")])
def test_the_threshold_of_the_age_is_met_exactly(age_ms: int, outcome: str) -> None:
    checks = server_checks(ServerConditions(), SERVER_ID, ServerFacts(), created_ms(SERVER_ID) + age_ms)
    assert {check.name: check.outcome for check in checks}["age"] == outcome


def test_every_condition_can_be_switched_off() -> None:
    off = ServerConditions(0, 0, icon=False, two_factor=False, community=False, nsfw="off")
    assert server_checks(off, SERVER_ID, ServerFacts(), NOW_MS) == ()
    assert Eligibility(NOW_MS, ()).outcome == "pass"


# -- Channels ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("everyone", "overwrites", "is_open"),
    [
        (VIEW, [], True),
        (CONNECT, [], False),
        (VIEW, [overwrite(deny=str(VIEW))], False),
        (CONNECT, [overwrite(allow=str(VIEW))], True),
        (VIEW, [overwrite(deny=str(VIEW), allow=str(VIEW))], True),
        (VIEW, [overwrite(deny=str(CONNECT))], True),
        (VIEW, [overwrite("300000000000000009", deny=str(VIEW))], True),
        (CONNECT, [overwrite("300000000000000009", allow=str(VIEW))], False),
        (ADMINISTRATOR, [overwrite(deny=str(VIEW))], True),
        (VIEW, [overwrite(deny=VIEW)], False),
    ],
)
def test_an_nsfw_channel_fails_where_everyone_sees_it(
    everyone: int, overwrites: list[object], is_open: bool
) -> None:
    inside = {**INSIDE, "roles": [{"id": SERVER_ID, "permissions": str(everyone)}]}
    check = nsfw_check(
        {**CHANNEL, "nsfw": True, "name": "red", "permission_overwrites": overwrites}, inside=inside
    )
    assert (check.outcome, check.channels) == (("fail", ("red",)) if is_open else ("pass", ()))


@pytest.mark.parametrize(
    "change",
    [
        {"permission_overwrites": None},
        {"permission_overwrites": [7]},
        {"permission_overwrites": [overwrite(allow="many")]},
        {"permission_overwrites": [overwrite(deny=None)]},
        {"nsfw": "no"},
        {"nsfw": None},
    ],
)
def test_a_channel_that_cannot_be_read_is_unknown_and_no_pass(change: dict[str, Any]) -> None:
    assert nsfw_check({**CHANNEL, "nsfw": True, **change}).outcome == "unknown"


@pytest.mark.parametrize(
    "roles", [None, [], [{"id": SERVER_ID}], [{"id": SERVER_ID, "permissions": "x"}], {}]
)
def test_without_the_permissions_of_everyone_a_channel_is_unknown(roles: object) -> None:
    red = {**CHANNEL, "nsfw": True}
    assert nsfw_check(red, inside={**INSIDE, "roles": roles}).outcome == "unknown"
    assert nsfw_check(CHANNEL, inside={**INSIDE, "roles": roles}).outcome == "pass"
    opened = {**red, "permission_overwrites": [overwrite(allow=str(VIEW))]}
    assert nsfw_check(opened, inside={**INSIDE, "roles": roles}).outcome == "fail"


def test_a_category_without_the_field_is_no_channel_that_could_be_nsfw() -> None:
    category = {name: value for name, value in CHANNEL.items() if name != "nsfw"}
    assert nsfw_check({**category, "type": 4}).outcome == "pass"
    assert nsfw_check(category).outcome == "unknown"


def test_the_rule_says_which_channels_count() -> None:
    hidden = {**CHANNEL, "nsfw": True, "permission_overwrites": [overwrite(deny=str(VIEW))]}
    assert nsfw_check(hidden).outcome == "pass"
    assert nsfw_check(hidden, conditions=ServerConditions(nsfw="any")).outcome == "fail"


def test_channels_are_counted_and_the_first_are_named() -> None:
    red = [{**CHANNEL, "nsfw": True, "name": f"red {number}"} for number in range(MOST_NAMED + 5)]
    check = nsfw_check(CHANNEL, *red)
    assert (check.outcome, check.have, check.need) == ("fail", MOST_NAMED + 5, 0)
    assert check.channels == tuple(f"red {number}" for number in range(MOST_NAMED))


def test_too_many_channels_are_no_answer() -> None:
    assert nsfw_check(*[CHANNEL] * MOST_CHANNELS).outcome == "pass"
    assert nsfw_check(*[CHANNEL] * (MOST_CHANNELS + 1)).outcome == "unknown"


# -- Anything ---------------------------------------------------------------------------------------------

channels_of_any_kind = anything | st.lists(altered({**CHANNEL, "nsfw": True}) | anything, max_size=3)


@examples(500)
@given(anything | st.lists(altered(SEEN), max_size=2), anything | altered(INSIDE), channels_of_any_kind)
def test_no_answer_raises_or_gives_a_yes_that_it_does_not_state(
    seen: Any, inside: Any, channels: Any
) -> None:
    checks = checks_of(facts_of(seen, inside, channels))
    passed = {name for name, check in checks.items() if check.outcome == "pass"}
    mine = [each for each in seen if isinstance(each, dict)] if isinstance(seen, list) else []
    told = [*mine, inside] if isinstance(inside, dict) else mine
    for name, is_stated in (
        ("members", any(_is_number(each.get("approximate_member_count"), 100) for each in told)),
        ("icon", any(isinstance(each.get("icon"), str) for each in told)),
        ("community", any("COMMUNITY" in (each.get("features") or ()) for each in told if _is_list(each))),
        ("two_factor", isinstance(inside, dict) and inside.get("mfa_level") == 1),
    ):
        assert name not in passed or is_stated
    assert "nsfw" not in passed or _is_clean(inside, channels)
    assert {check.outcome for check in checks.values()} <= {"pass", "fail", "unknown"}


def _is_number(value: object, least: int) -> bool:
    return type(value) is int and value >= least


def _is_list(answer: dict[str, Any]) -> bool:
    return isinstance(answer.get("features"), list)


def _is_clean(inside: dict[str, Any], channels: object) -> bool:
    """Tell if the answers state that no NSFW channel is open to everyone."""
    if inside.get("nsfw_level") not in (0, 2) or not isinstance(channels, list):
        return False
    return all(isinstance(each, dict) and _is_closed(inside, each) for each in channels)


def _is_closed(inside: dict[str, Any], channel: dict[str, Any]) -> bool:
    if channel.get("nsfw") is False or ("nsfw" not in channel and channel.get("type") in (4, 14)):
        return True
    everyone = [int(role["permissions"]) for role in inside["roles"] if role["id"] == SERVER_ID]
    allowed = denied = 0
    for each in channel["permission_overwrites"]:
        if each["id"] == SERVER_ID:
            allowed, denied = allowed | int(each["allow"]), denied | int(each["deny"])
    sees = (everyone[0] & ~denied | allowed) & VIEW or everyone[0] & ADMINISTRATOR
    return channel.get("nsfw") is True and not sees


overwrites_of_any_kind = st.lists(
    st.builds(
        lambda whose, allow, deny: overwrite(whose, allow=str(allow), deny=str(deny)),
        st.sampled_from([SERVER_ID, "300000000000000009"]),
        st.integers(0, 1 << 12),
        st.integers(0, 1 << 12),
    ),
    max_size=3,
    unique_by=lambda each: each["id"],
)


@examples(500)
@given(st.integers(0, 1 << 12), overwrites_of_any_kind, st.booleans())
def test_permissions_are_those_of_the_platforms_own_arithmetic(
    everyone: int, overwrites: list[dict[str, Any]], is_nsfw: bool
) -> None:
    """The model is the code in the platform's documentation, for a member who has no other role."""
    permissions = everyone
    if not everyone & ADMINISTRATOR:
        for each in overwrites:
            if each["id"] == SERVER_ID:
                permissions &= ~int(each["deny"])
                permissions |= int(each["allow"])
    is_seen = bool(permissions & VIEW) or bool(everyone & ADMINISTRATOR)
    inside = {**INSIDE, "roles": [{"id": SERVER_ID, "permissions": str(everyone)}]}
    channel = {**CHANNEL, "nsfw": is_nsfw, "permission_overwrites": overwrites}
    assert nsfw_check(channel, inside=inside).outcome == ("fail" if is_nsfw and is_seen else "pass")


@examples(200)
@given(anything | altered(INSIDE))
def test_no_answer_about_a_server_raises(answer: Any) -> None:
    server = read_inner_server(answer, SERVER_ID)
    assert server is None or (server.id, server.id) == (SERVER_ID, answer["id"])


def test_facts_of_two_sides_have_times_of_their_own() -> None:
    seen = PlatformServer(SERVER_ID, "Workshop", members=250, has_icon="yes", has_community="yes")
    inside = InnerServer(SERVER_ID, "Workshop", needs_two_factor="yes", is_nsfw="no")
    checks = checks_of(ServerFacts(seen, 5, inside, (ServerChannel("talk", "no"),), 7))
    assert {name: check.at_ms for name, check in checks.items()} == {
        **{"members": 5, "icon": 5, "community": 5},
        **{"two_factor": 7, "nsfw": 7, "age": NOW_MS},
    }


# -- Bots -------------------------------------------------------------------------------------------------

ANSWERS: tuple[Answer, ...] = ("yes", "no", "unknown")


@pytest.mark.parametrize(("inviteable", "commands"), [*itertools.product(ANSWERS, ANSWERS)])
def test_each_plain_no_is_an_obstacle_and_nothing_else_is(inviteable: Answer, commands: Answer) -> None:
    found = obstacles(PlatformApplication("1", "A bot", is_inviteable=inviteable, has_commands=commands))
    assert ("not_inviteable" in found) == (inviteable == "no")
    assert ("no_commands" in found) == (commands == "no")
    assert len(found) == (inviteable, commands).count("no")


def test_an_application_that_is_not_there_is_an_obstacle() -> None:
    assert obstacles(None) == ["no_application"]
