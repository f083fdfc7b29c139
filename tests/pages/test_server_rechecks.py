"""pages/rounds.py: servers and templates are checked again once a day, one at a time, and by one node."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from chatplatform.listing_checks import ServerConditions
from chatplatform.platform_client import open_chat_platform
from chatplatform.template_questions import ServerTemplates
from core.actors import GATEWAY, OPERATOR
from core.events import ListingRemoved, ListingReviewed, ListingSaved
from core.ledger import Ledger
from core.listing_table import SLICE
from core.rows import Listing, ServerCheck
from forms.file_fields import FileRef
from kinds.server_templates import TEMPLATES
from kinds.servers import ServerProfile
from listings.eligibility import check
from listings.owners import is_proven
from listings.template_checks import checked_at_submission
from pages.platform_facts import ServerChecking, ServerLists
from pages.rounds import CHECK_AGE_MS, ServerRechecks
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from tests.support.gateways import WAIT_SECONDS
from tests.support.platform_stand_in import (
    ADA,
    GAME_NIGHT,
    GOOD_SERVER,
    SMALL,
    STUDY_HALL,
    WITHOUT_BOT,
    StandIn,
    server_id,
    standing_in,
)
from tests.support.sample_rows import BOT_PROFILE, OWNER

DAY_SECONDS = CHECK_AGE_MS / 1_000
GRACE_MS = 2 * CHECK_AGE_MS


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


def list_server(ledger: Ledger, clock: FakeClock, server: str, *, is_checked: bool = True) -> None:
    ref, now_ms = f"servers/{server}", clock.now_ms()
    profile = ServerProfile("A server", "", (), "Gaming")
    ledger.commit([ListingSaved(ref, OWNER, profile, "in_review", now_ms)])
    if is_checked:
        known = (ServerCheck("members", "pass", 250, 100, now_ms),)
        ledger.commit(check(ledger.state, ref, known, now_ms, GRACE_MS, by=OPERATOR))
    ledger.commit([ListingReviewed(ref, "approved", None, now_ms)])


@asynccontextmanager
async def rechecking(
    stand_in: StandIn,
    ledger: Ledger,
    clock: FakeClock,
    asks: Callable[[str], bool] = lambda _: True,
    deadline_seconds: float = WAIT_SECONDS,
) -> AsyncIterator[ServerRechecks]:
    opening = open_chat_platform(stand_in.access, clock, deadline_seconds=deadline_seconds, cache_seconds=0)
    async with opening as platform:
        checking = ServerChecking(
            *(platform, ServerConditions(), ServerLists(clock), clock, stand_in.authorize_url, "1")
        )
        templates = ServerTemplates(platform, kept, clock)
        yield ServerRechecks(ledger, clock, checking, templates, GRACE_MS, asks)


async def kept(_: bytes, facts: FileRef, __: str | None) -> FileRef:
    return facts


def list_template(ledger: Ledger, clock: FakeClock, code: str = GAME_NIGHT) -> None:
    """List a template while the platform gives no answer."""
    ref, now_ms = f"templates/{code}", clock.now_ms()
    profile = TEMPLATES.sample
    ledger.commit([ListingSaved(ref, ADA, profile, "in_review", now_ms)])
    ledger.commit(checked_at_submission(ref, ADA, None, None, now_ms, by=OPERATOR))
    ledger.commit([ListingReviewed(ref, "approved", None, now_ms)])


def row(ledger: Ledger, server: str) -> Listing:
    return ledger.state.listings[f"servers/{server}"]


def test_what_was_checked_a_day_ago_is_checked_again_and_nothing_else(
    stand_in: StandIn, ledger: Ledger
) -> None:
    clock = FakeClock()
    list_server(ledger, clock, GOOD_SERVER)
    list_server(ledger, clock, SMALL, is_checked=False)

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as rechecks:
            before, head = stand_in.asked(f"/guilds/{GOOD_SERVER}"), ledger.head
            clock.advance(DAY_SECONDS - 1)
            await rechecks.round()
            assert (stand_in.asked(f"/guilds/{GOOD_SERVER}"), ledger.head) == (before, head)
            clock.advance(1)
            for _ in range(2):
                await rechecks.round()
            assert stand_in.asked(f"/guilds/{GOOD_SERVER}") == before + 1
            known = row(ledger, GOOD_SERVER).eligibility
            assert known
            assert (known.outcome, known.at_ms) == ("pass", clock.now_ms())
            assert not row(ledger, SMALL).eligibility

    run(main())


def test_what_fails_is_hidden_after_the_grace_period_and_comes_back_by_itself(
    stand_in: StandIn, ledger: Ledger
) -> None:
    clock = FakeClock()
    list_server(ledger, clock, GOOD_SERVER)
    stand_in.change_server(GOOD_SERVER, approximate_member_count=5)

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as rechecks:
            seen = []
            for members in (5, 5, 5, 1_250):
                stand_in.change_server(GOOD_SERVER, approximate_member_count=members)
                clock.advance(DAY_SECONDS)
                await rechecks.round()
                seen.append(row(ledger, GOOD_SERVER).is_public)
            assert seen == [True, True, False, True]
            acts = [(act.by, act.action) for act in row(ledger, GOOD_SERVER).audit_log if act.by == GATEWAY]
            assert acts == [(GATEWAY, "found_failing"), (GATEWAY, "hidden"), (GATEWAY, "shown_again")]

    run(main())


def test_without_the_bot_what_was_known_stays_known(stand_in: StandIn, ledger: Ledger) -> None:
    clock = FakeClock()
    list_server(ledger, clock, WITHOUT_BOT)

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as rechecks:
            clock.advance(DAY_SECONDS)
            await rechecks.round()
            known = row(ledger, WITHOUT_BOT).eligibility
            assert known
            assert known.checks[0].outcome == "pass"
            assert known.checks[0].at_ms == clock.now_ms() - CHECK_AGE_MS

    run(main())


@pytest.mark.parametrize("fault", ["429", "500", "401", "html", "cut", "types"])
def test_a_platform_that_is_away_changes_nothing_and_the_next_round_goes_on(
    stand_in: StandIn, ledger: Ledger, fault: str
) -> None:
    clock = FakeClock()
    list_server(ledger, clock, GOOD_SERVER)

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as rechecks:
            clock.advance(DAY_SECONDS)
            stand_in.goes_wrong(f"/guilds/{GOOD_SERVER}", fault)
            head = ledger.head
            if fault != "429":  # the client waits, and asks once more
                await rechecks.round()
                assert ledger.head == head
            await rechecks.round()
            assert ledger.head > head

    run(main())


def test_a_platform_that_is_slow_holds_a_round_up_to_the_deadline_and_changes_nothing(
    stand_in: StandIn, ledger: Ledger
) -> None:
    clock = FakeClock()
    list_server(ledger, clock, GOOD_SERVER)
    clock.advance(DAY_SECONDS)
    stand_in.goes_wrong(f"/guilds/{GOOD_SERVER}", "slow")
    head = ledger.head

    async def main(deadline_seconds: float) -> None:
        async with rechecking(stand_in, ledger, clock, deadline_seconds=deadline_seconds) as rechecks:
            await rechecks.round()

    run(main(0.1))
    assert ledger.head == head
    run(main(WAIT_SECONDS))
    assert ledger.head > head


@pytest.mark.parametrize("lie", ["missing", "types"])
def test_an_answer_without_sense_makes_nothing_fail_that_was_known_to_be_met(
    stand_in: StandIn, ledger: Ledger, lie: str
) -> None:
    clock = FakeClock()
    list_server(ledger, clock, GOOD_SERVER)

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as rechecks:
            for _ in range(4):
                clock.advance(DAY_SECONDS)
                stand_in.goes_wrong(f"/guilds/{GOOD_SERVER}", "missing")
                stand_in.goes_wrong(f"/guilds/{GOOD_SERVER}/channels", lie)
                await rechecks.round()
            known = row(ledger, GOOD_SERVER).eligibility
            assert known
            outcomes = {each.name: each.outcome for each in known.checks}
            assert outcomes.pop("members") == outcomes.pop("age") == "pass"
            assert set(outcomes.values()) == {"unknown"}
            assert (known.at_ms, known.failing_ms) == (clock.now_ms(), None)
            assert row(ledger, GOOD_SERVER).is_public

    run(main())


def test_a_server_of_which_there_is_never_an_answer_stops_no_other(stand_in: StandIn, ledger: Ledger) -> None:
    clock = FakeClock()
    for server in (GOOD_SERVER, SMALL, WITHOUT_BOT):
        list_server(ledger, clock, server)

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as rechecks:
            for server, others in ((GOOD_SERVER, (SMALL, WITHOUT_BOT)), (SMALL, (GOOD_SERVER, WITHOUT_BOT))):
                clock.advance(DAY_SECONDS)
                stand_in.goes_wrong(f"/guilds/{server}", "cut", times=3)
                for _ in range(3):
                    await rechecks.round()
                checked = {each: row(ledger, each).eligibility for each in (server, *others)}
                late = {each for each, known in checked.items() if known and known.at_ms == clock.now_ms()}
                assert late == set(others)
                await rechecks.round()
                known = row(ledger, server).eligibility
                assert known
                assert known.at_ms == clock.now_ms()

    run(main())


def test_a_round_lets_others_run_between_slices(stand_in: StandIn, ledger: Ledger) -> None:
    clock = FakeClock()
    for number in range(3 * SLICE):
        list_server(ledger, clock, server_id(1_000 + number))
    turns = 0

    async def main() -> None:
        nonlocal turns

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async with rechecking(stand_in, ledger, clock) as rechecks:
            beside = asyncio.create_task(others())
            await rechecks.round()
            beside.cancel()

    run(main())
    assert turns >= 3


def test_all_servers_that_are_due_are_asked_for_in_one_round_and_bots_are_not(
    stand_in: StandIn, ledger: Ledger
) -> None:
    clock = FakeClock()
    servers = [server_id(2_000 + number) for number in range(SLICE + 2)]
    for server in servers:
        list_server(ledger, clock, server)
    ledger.commit([ListingSaved(f"bots/{servers[0]}", OWNER, BOT_PROFILE, "in_review", clock.now_ms())])

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as rechecks:
            clock.advance(DAY_SECONDS)
            await rechecks.round()
            assert {stand_in.asked(f"/guilds/{server}") for server in (servers[0], servers[-1])} == {1}
            at_ms = {known.at_ms for server in servers if (known := row(ledger, server).eligibility)}
            assert at_ms == {clock.now_ms()}

    run(main())


def test_a_listing_that_is_removed_meanwhile_is_left_out(stand_in: StandIn, ledger: Ledger) -> None:
    clock = FakeClock()
    list_server(ledger, clock, GOOD_SERVER)
    list_server(ledger, clock, SMALL)

    def asks(ref: str) -> bool:
        if ref.endswith(SMALL):
            ledger.commit([ListingRemoved(f"servers/{GOOD_SERVER}")])
        return True

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock, asks) as rechecks:
            clock.advance(DAY_SECONDS)
            await rechecks.round()
            assert f"servers/{GOOD_SERVER}" not in ledger.state.listings
            known = row(ledger, SMALL).eligibility
            assert known
            assert known.outcome == "fail"

    run(main())


def test_another_node_of_the_fleet_asks(stand_in: StandIn, ledger: Ledger) -> None:
    clock = FakeClock()
    list_server(ledger, clock, GOOD_SERVER)

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock, lambda _: False) as rechecks:
            clock.advance(DAY_SECONDS)
            head = ledger.head
            await rechecks.round()
            assert ledger.head == head

    run(main())


def test_a_template_without_an_answer_is_asked_about_in_the_next_round_and_then_once_a_day(
    stand_in: StandIn, ledger: Ledger
) -> None:
    clock, ref, path = FakeClock(), f"templates/{GAME_NIGHT}", f"/guilds/templates/{GAME_NIGHT}"
    list_template(ledger, clock)

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as rechecks:
            before = stand_in.asked(path)
            for _ in range(2):
                await rechecks.round()
            listing = ledger.state.listings[ref]
            assert stand_in.asked(path) == before + 1
            assert listing.template
            assert (listing.template.uses, listing.template.channels, listing.template.roles) == (3_912, 8, 3)
            assert listing.eligibility
            assert (listing.eligibility.outcome, is_proven(listing)) == ("pass", True)
            clock.advance(DAY_SECONDS)
            await rechecks.round()
            assert stand_in.asked(path) == before + 2

    run(main())


def test_a_template_that_is_gone_is_hidden_after_a_notice_and_shown_again_when_it_is_back(
    stand_in: StandIn, ledger: Ledger
) -> None:
    clock, ref = FakeClock(), f"templates/{STUDY_HALL}"
    list_template(ledger, clock, STUDY_HALL)

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as rechecks:
            await rechecks.round()
            known = ledger.state.listings[ref].template
            assert known
            stand_in.end_template(STUDY_HALL)
            seen = []
            for _ in range(3):
                clock.advance(DAY_SECONDS)
                await rechecks.round()
                seen.append(ledger.state.listings[ref].is_public)
            gone = ledger.state.listings[ref].template
            assert gone
            assert (gone.problem, gone.uses, gone.tree) == ("gone", known.uses, known.tree)
            stand_in.change_template(STUDY_HALL, usage_count=88)
            clock.advance(DAY_SECONDS)
            await rechecks.round()
            listing = ledger.state.listings[ref]
            assert (seen, listing.is_public) == ([True, True, False], True)
            assert listing.template
            assert (listing.template.problem, listing.template.uses) == (None, 88)
            acts = [(act.action, act.about) for act in listing.audit_log if act.by == GATEWAY]
            assert acts == [
                *(("ownership_proven", ""), ("found_failing", "exists")),
                *(("hidden", "exists"), ("shown_again", "")),
            ]

    run(main())


@pytest.mark.parametrize("fault", ["html", "cut", "500", "403", "404", "deep", "types", "missing"])
def test_an_answer_that_cannot_be_used_takes_no_template_for_gone(
    stand_in: StandIn, ledger: Ledger, fault: str
) -> None:
    clock, ref = FakeClock(), f"templates/{GAME_NIGHT}"
    list_template(ledger, clock)

    async def main() -> None:
        async with rechecking(stand_in, ledger, clock) as rechecks:
            await rechecks.round()
            known = ledger.state.listings[ref].template
            clock.advance(DAY_SECONDS)
            stand_in.goes_wrong(f"/guilds/templates/{GAME_NIGHT}", fault)
            await rechecks.round()
            listing = ledger.state.listings[ref]
            assert listing.template == known
            assert listing.eligibility
            assert listing.eligibility.outcome == "pass"

    run(main())
