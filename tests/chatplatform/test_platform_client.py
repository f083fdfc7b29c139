"""chatplatform/platform_client.py, against the stand-in: its questions, their number, and every fault."""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from chatplatform.authorization import SignInFailed, new_sign_in, read_callback, token_form
from chatplatform.listing_checks import ServerConditions, ServerFacts, server_checks
from chatplatform.platform_client import ChatPlatform, PlatformAccess, PlatformAway, open_chat_platform
from core.clock import SystemClock
from tests.support.coroutines import run, until
from tests.support.fake_clock import FakeClock
from tests.support.gateways import WAIT_SECONDS
from tests.support.platform_stand_in import (
    ADA,
    BACK,
    BEN,
    BOT_TOKEN,
    CHANNELS,
    CLIENT_ID,
    DAN,
    GOOD_SERVER,
    MANAGED,
    NO_BOT,
    NOT_MANAGED,
    OPEN_NSFW,
    PRIVATE,
    READY,
    SILENT,
    WITHOUT_BOT,
    StandIn,
    messages_path,
    standing_in,
)
from tests.support.raw_receivers import unused_port

SIGN_IN = new_sign_in(bytes(range(64)))
NOWHERE = "400000000000000099"
CACHE_SECONDS = 300
RPC = f"/applications/{READY}/rpc"


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


@asynccontextmanager
async def asking(
    stand_in: StandIn, deadline_seconds: float = WAIT_SECONDS, clock: FakeClock | None = None
) -> AsyncIterator[ChatPlatform]:
    async with open_chat_platform(
        stand_in.access,
        clock or SystemClock(),
        deadline_seconds=deadline_seconds,
        cache_seconds=CACHE_SECONDS,
    ) as platform:
        yield platform


async def signed_in(stand_in: StandIn, platform: ChatPlatform, user_id: str = ADA) -> str:
    """Return the token of a user who has said yes."""
    code = read_callback(stand_in.decide(SIGN_IN, user_id), SIGN_IN)
    return await platform.token(token_form(code, BACK, SIGN_IN))


async def reason(platform: ChatPlatform) -> str:
    with pytest.raises(PlatformAway) as away:
        await platform.application(READY)
    return away.value.reason


# -- Signing in -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user_id", "username", "email"),
    [(ADA, "ada", "ada@example.com"), (BEN, "ben", "ben@example.com"), (DAN, "dan", None)],
)
def test_whoever_signs_in_is_known_with_their_servers(
    stand_in: StandIn, user_id: str, username: str, email: str | None
) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            token = await signed_in(stand_in, platform, user_id)
            user, servers = await platform.user(token), await platform.servers(token)
            assert (user.id, user.username, user.email) == (user_id, username, email)
            managed = {server.id for server in servers if server.may_manage}
            assert (GOOD_SERVER in managed, MANAGED in managed, NOT_MANAGED in managed) == (
                *(user_id == ADA, user_id == ADA, False),
            )
            assert [server.members for server in servers[:2]] == [1_250, 12]

    run(main())


def test_a_code_is_good_once(stand_in: StandIn) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            code = read_callback(stand_in.decide(SIGN_IN, ADA), SIGN_IN)
            form = token_form(code, BACK, SIGN_IN)
            await platform.token(form)
            with pytest.raises(SignInFailed) as failed:
                await platform.token(form)
            assert failed.value.why == "platform"

    run(main())


@pytest.mark.parametrize("change", [{"code_verifier": "x" * 43}, {"redirect_uri": BACK + "/"}, {"code": "x"}])
def test_a_code_of_another_browser_or_for_another_address_is_refused(
    stand_in: StandIn, change: dict[str, str]
) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            code = read_callback(stand_in.decide(SIGN_IN, ADA), SIGN_IN)
            with pytest.raises(SignInFailed):
                await platform.token({**token_form(code, BACK, SIGN_IN), **change})

    run(main())


def test_who_cancels_comes_back_without_a_code(stand_in: StandIn) -> None:
    with pytest.raises(SignInFailed) as failed:
        read_callback(stand_in.decide(SIGN_IN, ADA, "cancel"), SIGN_IN)
    assert failed.value.why == "cancelled"


# -- Applications -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("application_id", "inviteable", "commands"),
    [
        (READY, "yes", "yes"),
        (PRIVATE, "no", "yes"),
        (SILENT, "yes", "no"),
        (NO_BOT, "unknown", "yes"),
    ],
)
def test_what_the_platform_says_of_an_application(
    stand_in: StandIn, application_id: str, inviteable: str, commands: str
) -> None:
    async def main() -> None:
        async with asking(stand_in, clock=FakeClock()) as platform:
            told = await platform.application(application_id)
            assert told.at_ms == FakeClock().now_ms()
            assert told.application is not None
            assert told.application.is_inviteable == inviteable
            assert told.application.has_commands == commands

    run(main())


def test_an_application_that_does_not_exist_is_known_not_to(stand_in: StandIn) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            assert (await platform.application(NOWHERE)).application is None

    run(main())


def test_an_answer_holds_for_a_while_and_those_who_ask_at_once_share_one(stand_in: StandIn) -> None:
    async def main() -> None:
        clock = FakeClock()
        async with asking(stand_in, clock=clock) as platform:
            before = stand_in.asked(RPC)
            await asyncio.gather(*(platform.application(READY) for _ in range(20)))
            clock.advance(CACHE_SECONDS - 1)
            await platform.application(READY)
            assert stand_in.asked(RPC) - before == 1
            clock.advance(1)
            await platform.application(READY)
            assert stand_in.asked(RPC) - before == 2

    run(main())


def test_an_answer_can_be_asked_for_anew_and_the_last_one_is_known_however_old(stand_in: StandIn) -> None:
    async def main() -> None:
        clock = FakeClock()
        async with asking(stand_in, clock=clock) as platform:
            assert platform.last_answer(READY) is None
            told, before = await platform.application(READY), stand_in.asked(RPC)
            clock.advance(1)
            newer = await platform.application(READY, refresh=True)
            assert stand_in.asked(RPC) - before == 1
            assert newer.at_ms == told.at_ms + 1_000
            clock.advance(10 * CACHE_SECONDS)
            assert platform.last_answer(READY) == newer
            assert stand_in.asked(RPC) - before == 1

    run(main())


# -- Faults -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("401", "refused"),
        ("403", "refused"),
        ("404", "refused"),
        ("500", "refused"),
        ("html", "refused"),
        ("cut", "unreachable"),
        ("types", "unreadable"),
        ("deep", "unreadable"),
    ],
)
def test_an_answer_that_goes_wrong_is_a_reason_and_the_next_one_counts(
    stand_in: StandIn, fault: str, expected: str
) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            stand_in.goes_wrong(RPC, fault)
            assert await reason(platform) == expected
            assert (await platform.application(READY)).application is not None

    run(main())


def test_an_answer_that_is_slow_to_come_holds_up_no_other(stand_in: StandIn) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            stand_in.goes_wrong(RPC, "slow")
            before, slow = stand_in.asked(RPC), asyncio.create_task(platform.application(READY))
            await until(lambda: stand_in.asked(RPC) > before)
            assert (await platform.application(PRIVATE)).application is not None
            assert not slow.done()
            slow.cancel()

    run(main())


def test_fields_that_are_missing_are_unknown(stand_in: StandIn) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            stand_in.goes_wrong(RPC, "missing")
            application = (await platform.application(READY)).application
            assert application is not None
            assert (application.is_inviteable, application.has_commands) == ("unknown", "unknown")

    run(main())


# -- How many servers an application is in ----------------------------------------------------------------

DIRECTORY = f"/application-directory-static/applications/{READY}"


async def counted(stand_in: StandIn, application_id: str, bot_token: str = BOT_TOKEN) -> int | None:
    access = replace(stand_in.access, bot_token=bot_token)
    opening = open_chat_platform(
        access, SystemClock(), deadline_seconds=WAIT_SECONDS, cache_seconds=CACHE_SECONDS
    )
    async with opening as platform:
        return await platform.guild_count(application_id)


@pytest.mark.parametrize(
    ("application_id", "servers"), [(READY, 1_200), (SILENT, None), (NOWHERE, None), (CLIENT_ID, 7)]
)
def test_the_count_of_an_application_is_told_by_the_directory_or_to_its_own_bot(
    stand_in: StandIn, application_id: str, servers: int | None
) -> None:
    assert run(counted(stand_in, application_id)) == servers


def test_without_a_bot_the_count_of_our_own_application_is_the_directory_s(stand_in: StandIn) -> None:
    assert run(counted(stand_in, CLIENT_ID, bot_token="")) is None


def test_a_count_that_the_answer_does_not_state_is_none(stand_in: StandIn) -> None:
    for fault in ("types", "missing", "403"):
        stand_in.goes_wrong(DIRECTORY, fault)
        assert run(counted(stand_in, READY)) is None
    assert run(counted(stand_in, READY)) == 1_200


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        *(("401", "refused"), ("500", "refused"), ("html", "refused")),
        *(("cut", "unreachable"), ("deep", "unreadable")),
    ],
)
def test_a_count_that_cannot_be_asked_for_is_no_answer(stand_in: StandIn, fault: str, expected: str) -> None:
    stand_in.goes_wrong(DIRECTORY, fault)
    with pytest.raises(PlatformAway) as away:
        run(counted(stand_in, READY))
    assert away.value.reason == expected


# -- Direct messages --------------------------------------------------------------------------------------


def test_a_message_is_posted_in_the_channel_of_its_user_once_for_a_nonce(stand_in: StandIn) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            channel = await platform.channel(BEN)
            for _ in range(2):
                await platform.post(channel, "Hello, *Ben*", "a-nonce")
            await platform.post(channel, "Hello again", "another-nonce")
        assert stand_in.messages(BEN) == ["Hello again", "Hello, *Ben*"]

    run(main())


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ("401", 401, 0),
        ("403", 403, 50_001),
        ("cannot-message", 403, 50_007),
        ("no-user", 404, 10_013),
        ("500", 500, 0),
        ("html", 503, 0),
    ],
)
def test_a_refusal_of_a_message_says_its_status_and_the_platform_s_number(
    stand_in: StandIn, fault: str, status: int, code: int
) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            channel = await platform.channel(ADA)
            stand_in.goes_wrong(messages_path(ADA), fault)
            with pytest.raises(PlatformAway) as away:
                await platform.post(channel, "Hello", "nonce")
            assert (away.value.reason, away.value.status, away.value.code) == ("refused", status, code)

    run(main())


def test_of_a_channel_the_id_is_enough(stand_in: StandIn) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            for fault in ("types", "missing"):
                stand_in.goes_wrong(CHANNELS, fault)
                assert await platform.channel(ADA) == messages_path(ADA).split("/")[2]

    run(main())


def test_a_wait_for_messages_holds_up_no_other_question(stand_in: StandIn) -> None:
    async def main() -> None:
        async with asking(stand_in, 0.9, FakeClock()) as platform:
            stand_in.goes_wrong(CHANNELS, "429")
            for _ in range(2):
                with pytest.raises(PlatformAway) as away:
                    await platform.channel(ADA)
                assert (away.value.reason, away.value.retry_seconds) == ("limited", 1.0)
            assert (await platform.application(READY)).application is not None

    run(main())


@pytest.mark.parametrize("fault", ["429", "429-global"])
def test_a_question_that_came_too_often_is_asked_again_after_the_wait(stand_in: StandIn, fault: str) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            before = stand_in.asked(RPC)
            stand_in.goes_wrong(RPC, fault)
            assert (await platform.application(READY)).application is not None
            assert stand_in.asked(RPC) - before == 2

    run(main())


def test_a_question_that_would_wait_beyond_its_deadline_is_not_sent(stand_in: StandIn) -> None:
    async def main() -> None:
        clock = FakeClock()
        async with asking(stand_in, 0.9, clock) as platform:
            before = stand_in.asked(RPC)
            stand_in.goes_wrong(RPC, "429")
            for _ in range(2):
                with pytest.raises(PlatformAway) as away:
                    await platform.application(READY)
                assert (away.value.reason, away.value.retry_seconds) == ("limited", 1.0)
            assert stand_in.asked(RPC) - before == 1
            clock.advance(1)
            await platform.application(READY)

    run(main())


def test_a_slow_platform_holds_a_question_no_longer_than_its_deadline(stand_in: StandIn) -> None:
    async def main() -> None:
        async with asking(stand_in, 0.2) as platform:
            stand_in.goes_wrong(RPC, "slow")
            assert await reason(platform) == "timeout"

    run(main())


def test_a_failure_that_nobody_waits_for_any_more_is_not_logged(
    stand_in: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with asking(stand_in, 0.2) as platform:
            stand_in.goes_wrong(RPC, "slow")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(platform.application(READY), 0.05)
            asked = next(task for task in asyncio.all_tasks() if task is not asyncio.current_task())
            await asyncio.wait([asked])
            del asked
            gc.collect()

    run(main())
    assert [record for record in caplog.records if record.name == "asyncio"] == []


def test_a_platform_that_is_down_is_away() -> None:
    async def main() -> None:
        nowhere = PlatformAccess(f"http://127.0.0.1:{unused_port()}/api/v10", "1", "secret")
        async with open_chat_platform(
            nowhere, SystemClock(), deadline_seconds=WAIT_SECONDS, cache_seconds=CACHE_SECONDS
        ) as platform:
            assert await reason(platform) == "unreachable"

    run(main())


def test_no_secret_is_in_the_text_of_an_error_or_of_the_settings(stand_in: StandIn) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            token = await signed_in(stand_in, platform)
            stand_in.goes_wrong("/users/@me", "cut")
            with pytest.raises(PlatformAway) as away:
                await platform.user(token)
            assert str(away.value) == "unreachable"
            assert away.value.__suppress_context__ or away.value.__context__ is None
            assert stand_in.access.client_secret not in repr(stand_in.access)
            assert stand_in.access.bot_token not in repr(stand_in.access)

    run(main())


# -- Servers as the bot sees them -------------------------------------------------------------------------


def test_a_server_with_the_bot_in_it_is_told_with_its_channels(stand_in: StandIn) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            inside = await platform.inside(OPEN_NSFW)
            assert inside.server is not None
            assert (inside.server.id, inside.server.needs_two_factor) == (OPEN_NSFW, "yes")
            assert inside.server.members == 1_250
            assert [(each.name, each.is_nsfw, each.is_open) for each in inside.channels or ()] == [
                ("general", "no", "unknown"),
                ("after-dark", "yes", "yes"),
            ]
            good = await platform.inside(GOOD_SERVER)
            assert [each.is_open for each in good.channels or ()] == ["unknown", "no"]

    run(main())


@pytest.mark.parametrize("server", [WITHOUT_BOT, "399999999999999999"])
def test_a_server_without_the_bot_is_unknown_and_not_asked_for_again_at_once(
    stand_in: StandIn, server: str
) -> None:
    clock = FakeClock()

    async def main() -> None:
        async with asking(stand_in, clock=clock) as platform:
            before = stand_in.asked(f"/guilds/{server}")
            for _ in range(3):
                assert (await platform.inside(server))[:2] == (None, None)
            assert stand_in.asked(f"/guilds/{server}") == before + 1
            clock.advance(61)
            await platform.inside(server)
            assert stand_in.asked(f"/guilds/{server}") == before + 2

    run(main())


def test_without_a_bot_no_server_is_asked_for(stand_in: StandIn) -> None:
    async def main() -> None:
        access = replace(stand_in.access, bot_token="")
        opening = open_chat_platform(access, SystemClock(), deadline_seconds=9, cache_seconds=0)
        async with opening as platform:
            before = stand_in.asked(f"/guilds/{GOOD_SERVER}")
            assert not platform.has_bot
            assert (await platform.inside(GOOD_SERVER)).server is None
            assert stand_in.asked(f"/guilds/{GOOD_SERVER}") == before

    run(main())


@pytest.mark.parametrize("fault", ["429", "500", "html", "cut", "deep", "401"])
@pytest.mark.parametrize("rest", ["", "/channels"])
def test_a_server_of_which_the_platform_says_nothing_usable_is_away(
    stand_in: StandIn, fault: str, rest: str
) -> None:
    async def main() -> None:
        async with asking(stand_in, deadline_seconds=0.1 if fault == "429" else WAIT_SECONDS) as platform:
            stand_in.goes_wrong(f"/guilds/{GOOD_SERVER}{rest}", fault)
            if fault == "deep" and rest:
                assert (await platform.inside(GOOD_SERVER)).channels is None
                return
            with pytest.raises(PlatformAway):
                await platform.inside(GOOD_SERVER)

    run(main())


def test_channels_that_the_bot_may_not_read_leave_the_rest_known(stand_in: StandIn) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            stand_in.goes_wrong(f"/guilds/{GOOD_SERVER}/channels", "403")
            inside = await platform.inside(GOOD_SERVER)
            assert inside.server is not None
            assert (inside.server.needs_two_factor, inside.channels) == ("yes", None)

    run(main())


@pytest.mark.parametrize("fault", ["missing", "types"])
def test_an_answer_about_a_server_with_wrong_fields_makes_nothing_known(
    stand_in: StandIn, fault: str
) -> None:
    async def main() -> None:
        async with asking(stand_in) as platform:
            stand_in.goes_wrong(f"/guilds/{GOOD_SERVER}", "missing")
            stand_in.goes_wrong(f"/guilds/{GOOD_SERVER}/channels", fault)
            inside = await platform.inside(GOOD_SERVER)
            facts = ServerFacts(None, 0, inside.server, inside.channels, inside.at_ms)
            checks = server_checks(ServerConditions(), GOOD_SERVER, facts, inside.at_ms)
            assert {check.name for check in checks if check.outcome != "unknown"} == {"age"}

    run(main())
