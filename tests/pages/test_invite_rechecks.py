"""pages/rounds.py: invites are asked about once a day, and when somebody wants it sooner."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager

import pytest

from chatplatform.platform_client import open_chat_platform
from chatplatform.server_invites import ServerInvites
from core.events import ListingRemoved, ListingSaved
from core.ledger import Ledger
from core.rows import Listing
from kinds.servers import ServerProfile
from pages.rounds import CHECK_AGE_MS, InviteRechecks
from tests.support.coroutines import run, until
from tests.support.fake_clock import FakeClock
from tests.support.gateways import WAIT_SECONDS
from tests.support.platform_stand_in import GOOD_SERVER, SMALL, WITHOUT_BOT, StandIn, standing_in
from tests.support.sample_rows import BOT_PROFILE, OWNER

DAY_SECONDS = CHECK_AGE_MS / 1_000


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.rounds.PAUSE_SECONDS", 0)
    monkeypatch.setattr("pages.rounds.AWAY_SECONDS", 0)


def list_server(ledger: Ledger, server: str, invite: str | None) -> str:
    ref = f"servers/{server}"
    profile = ServerProfile("A server", "", (), "Gaming", invite=invite)
    ledger.commit([ListingSaved(ref, OWNER, profile, "approved", 1)])
    return ref


@asynccontextmanager
async def rechecking(
    stand_in: StandIn, ledger: Ledger, clock: FakeClock, asks: Callable[[str], bool] = lambda _: True
) -> AsyncIterator[tuple[InviteRechecks, ServerInvites]]:
    opening = open_chat_platform(stand_in.access, clock, deadline_seconds=WAIT_SECONDS, cache_seconds=0)
    async with opening as platform:
        invites = ServerInvites(platform, clock)
        rechecks = InviteRechecks(ledger, clock, invites, asks)
        async with asyncio.TaskGroup() as tasks:
            answering = tasks.create_task(rechecks.answer())
            yield rechecks, invites
            answering.cancel()


def row(ledger: Ledger, server: str = GOOD_SERVER) -> Listing:
    return ledger.state.listings[f"servers/{server}"]


async def known(ledger: Ledger, clock: FakeClock, server: str = GOOD_SERVER) -> None:
    """Wait until the answer of now is there."""

    def is_there() -> bool:
        check = row(ledger, server).invite_check
        return check is not None and check.at_ms == clock.now_ms()

    await until(is_there)


def test_a_new_invite_is_asked_about_in_the_next_round_and_then_daily(
    stand_in: StandIn, ledger: Ledger
) -> None:
    clock = FakeClock()
    list_server(ledger, GOOD_SERVER, "server-1")
    list_server(ledger, SMALL, None)
    ledger.commit([ListingSaved("bots/1", OWNER, BOT_PROFILE, "approved", 1)])

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as (rechecks, _):
            await rechecks.round()
            await known(ledger, clock)
            check = row(ledger).invite_check
            assert check
            assert (check.problem, check.members, check.online) == (None, 1_250, 180)
            asked = stand_in.asked("/invites/server-1")
            await rechecks.round()
            clock.advance(DAY_SECONDS)
            stand_in.change_server(GOOD_SERVER, approximate_member_count=1_300)
            await rechecks.round()
            await known(ledger, clock)
            check = row(ledger).invite_check
            assert check
            assert check.members == 1_300
            assert stand_in.asked("/invites/server-1") == asked + 1
            assert row(ledger, SMALL).invite_check is None

    run(main())


@pytest.mark.parametrize(
    ("code", "problem"),
    [("nothing", "gone"), ("server-2", "elsewhere"), ("friends", "elsewhere"), ("for-a-week", "expires")],
)
def test_an_invite_that_is_not_valid_is_found(
    stand_in: StandIn, ledger: Ledger, code: str, problem: str
) -> None:
    clock = FakeClock()
    ref = list_server(ledger, GOOD_SERVER, code)

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as (_, invites):
            invites.ask_soon(ref)
            await known(ledger, clock)

    run(main())
    check = row(ledger).invite_check
    assert check
    assert (check.problem, check.members) == (problem, None)
    assert [act.about for act in row(ledger).audit_log if act.action == "invite_broken"] == [problem]


@pytest.mark.parametrize("fault", ["500", "cut", "html", "missing", "types", "404"])
def test_while_the_platform_gives_no_answer_the_last_one_stays(
    stand_in: StandIn, ledger: Ledger, fault: str
) -> None:
    clock = FakeClock()
    ref = list_server(ledger, WITHOUT_BOT, "server-3")

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as (rechecks, _):
            assert await rechecks.check(ref)
            before = row(ledger, WITHOUT_BOT).invite_check
            clock.advance(DAY_SECONDS)
            stand_in.goes_wrong("/invites/server-3", fault)
            await rechecks.check(ref)
            assert row(ledger, WITHOUT_BOT).invite_check == before

    run(main())


def test_another_node_asks_about_its_own_servers(stand_in: StandIn, ledger: Ledger) -> None:
    clock = FakeClock()
    ref = list_server(ledger, GOOD_SERVER, "server-1")

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock, asks=lambda _: False) as (rechecks, invites):
            await rechecks.round()
            await asyncio.sleep(0)
            assert row(ledger).invite_check is None
            invites.ask_soon(ref)  # somebody has reported it here
            await known(ledger, clock)

    run(main())


def test_a_listing_that_is_gone_meanwhile_is_not_asked_about(stand_in: StandIn, ledger: Ledger) -> None:
    clock = FakeClock()
    ref = list_server(ledger, GOOD_SERVER, "server-1")
    ledger.commit([ListingRemoved(ref, 2)])

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as (rechecks, _):
            asked = stand_in.asked("/invites/server-1")
            assert await rechecks.check(ref)
            assert stand_in.asked("/invites/server-1") == asked

    run(main())


async def asked_all(stand_in: StandIn, codes: Sequence[str], times: int) -> None:
    await until(lambda: min(stand_in.asked(f"/invites/{code}") for code in codes) >= times)


def test_invites_that_get_no_answer_stop_no_other(
    stand_in: StandIn, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("pages.rounds", "chatplatform.server_invites"):
        monkeypatch.setattr(f"{module}.MOST_NOTED", 3)
    clock = FakeClock()
    dead = [f"dead-{number}" for number in range(5)]
    for number, code in enumerate(dead):
        list_server(ledger, f"10000000000000000{number}", code)
        stand_in.goes_wrong(f"/invites/{code}", "html", times=1_000)
    list_server(ledger, GOOD_SERVER, "server-1")

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as (rechecks, _):
            await rechecks.round()
            await asked_all(stand_in, dead[:3], 1)
            clock.advance(600)
            await rechecks.round()
            await known(ledger, clock)
            await asked_all(stand_in, dead, 1)
            assert max(stand_in.asked(f"/invites/{code}") for code in dead) == 1
            clock.advance(600)
            await rechecks.round()
            await asked_all(stand_in, dead[:3], 2)

    run(main())


def test_a_reported_invite_is_asked_about_before_those_that_are_due(
    stand_in: StandIn, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("pages.rounds", "chatplatform.server_invites"):
        monkeypatch.setattr(f"{module}.MOST_NOTED", 2)
    clock = FakeClock()
    for number in range(3):
        list_server(ledger, f"10000000000000000{number}", f"due-{number}")
    ref = list_server(ledger, GOOD_SERVER, "server-1")

    async def main() -> None:
        opening = open_chat_platform(stand_in.access, clock, deadline_seconds=WAIT_SECONDS, cache_seconds=0)
        async with opening as platform:
            invites = ServerInvites(platform, clock)
            await InviteRechecks(ledger, clock, invites, lambda _: True).round()
            invites.ask_soon(ref)
            assert await invites.next_noted() == ref

    run(main())
