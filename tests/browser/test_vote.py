"""The vote page in a real browser: with and without script, by keyboard, and with a proof of work."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import THEMES, Theme, visiting
from tests.support.gateways import BOT
from tests.support.owned_listings import list_bot
from tests.support.people_filled import signed_in
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN
from tests.support.webhook_receiver import Receiver, receiving, status

VOTE = f"/bots/{BOT}/vote"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    """After two accounts of an address have voted, others prove work."""
    with serving(tmp_path_factory.mktemp("site") / "data", **{"votes.accounts_per_address": 2}) as gateway:
        yield gateway


@pytest.fixture
def fresh(site: PeopleGateway) -> PeopleGateway:
    """Nobody has voted for the bot, nor from this address."""
    site.clock.advance(86_400)
    list_bot(site, BOT, owner=ADA, decision="approve", name="Jukebox بوت")
    return site


@pytest.fixture
def receiver(fresh: PeopleGateway) -> Iterator[Receiver]:
    with receiving() as receiver:
        fresh.done("PUT", f"/manage/bots/{BOT}/webhook", {"url": f"{receiver.url}/votes"})
        yield receiver


@pytest.mark.parametrize("has_script", [True, False], ids=["scripts", "scriptless"])
def test_a_stranger_signs_in_votes_by_keyboard_and_reads_that_the_bot_was_told(
    browser: Browser, fresh: PeopleGateway, receiver: Receiver, has_script: bool
) -> None:
    receiver.answers = [receiver.holding(status(204))]
    hosts = (fresh.stand_in.url,)
    with visiting(browser, fresh, hosts=hosts, java_script_enabled=has_script) as ben:
        ben.expected.add(404)  # the icon of the stand-in
        page = ben.see(VOTE)
        page.get_by_role("button", name="Sign in and vote").click()
        page.locator(f"input[value='{BEN}']").check()
        page.get_by_role("button", name="Approve").click()
        button = page.get_by_role("button", name="Vote", exact=True)
        expect(button).to_be_focused()
        expect(page).to_have_title(re.compile("^Vote for Jukebox"))
        page.keyboard.press("Enter")
        expect(page).to_have_title(re.compile("^Thank you: you voted for Jukebox"))
        expect(page.get_by_role("heading", name="Thank you, Ben")).to_be_focused()
        expect(page.get_by_text("is getting the message about it.")).to_be_visible()
        receiver.released.set()
        told = page.get_by_text("got the message about it at")
        if has_script:
            expect(told).to_be_visible()
        else:
            for _ in range(100):
                page.get_by_role("link", name="Look again").click()
                if told.count():
                    break
        expect(told).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", name="Thank you, Ben")).to_be_visible()
        expect(page.get_by_text("You can vote again in")).to_be_visible()
        expect(button).to_have_count(0)
    assert len(receiver.received) == 1


def test_a_suspicious_vote_waits_for_the_work_of_the_browser(browser: Browser, fresh: PeopleGateway) -> None:
    for user in (ADA, DAN):
        fresh.person(user).acted(VOTE)
    with signed_in(browser, fresh, BEN) as ben:
        page = ben.see(VOTE)
        button = page.get_by_role("button", name="Vote", exact=True)
        expect(page.get_by_text("It is done: you can vote.")).to_be_visible(timeout=60_000)
        expect(button).to_be_focused()
        assert ben.flaws() == []
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Thank you, Ben")).to_be_focused()
    with signed_in(browser, fresh, CLEO) as cleo:
        page = cleo.see("/review/votes")
        expect(page.get_by_role("row").filter(has_text="Ben, who votes")).to_contain_text(
            "Many accounts voted"
        )
        assert cleo.flaws() == []


def test_without_script_a_suspicious_vote_waits_for_a_time(browser: Browser, fresh: PeopleGateway) -> None:
    for user in (ADA, DAN):
        fresh.person(user).acted(VOTE)
    with signed_in(browser, fresh, BEN, java_script_enabled=False) as ben:
        page = ben.see(VOTE)
        expect(page.get_by_text("Without script you can vote at")).to_be_visible()
        expect(page.get_by_role("button", name="Vote", exact=True)).to_have_count(0)


@pytest.mark.parametrize("theme", THEMES)
def test_the_page_has_no_barrier_in_any_of_its_states(
    browser: Browser, fresh: PeopleGateway, theme: Theme
) -> None:
    flaws = []
    with visiting(browser, fresh, hosts=(fresh.stand_in.url,), color_scheme=theme) as stranger:
        stranger.see(VOTE)
        flaws += stranger.flaws()
    with signed_in(browser, fresh, BEN, color_scheme=theme) as ben:
        ben.expected |= {401, 409}
        page = ben.see(VOTE)
        flaws += ben.flaws()
        with ben.context.expect_page() as opened:
            page.evaluate("open(location.href, '_blank')")
        tab = opened.value
        page.get_by_role("button", name="Vote", exact=True).click()
        expect(page.get_by_role("heading", name="Thank you, Ben")).to_be_visible()
        flaws += ben.flaws()
        tab.get_by_role("button", name="Vote", exact=True).click()
        expect(tab.get_by_role("heading", name="You have voted already")).to_be_focused()
        expect(tab.get_by_role("alert")).to_have_count(0)
        ben.page = tab
        flaws += ben.flaws()
        page.get_by_role("button", name="Your account").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_text("You are signed out.")).to_be_visible()
    assert flaws == []


@pytest.mark.parametrize(("has_script", "hours", "zone"), [(True, 9, ""), (False, 0, " UTC")])
def test_times_are_said_by_the_clock_of_their_reader_and_without_script_in_utc(
    browser: Browser, fresh: PeopleGateway, has_script: bool, hours: int, zone: str
) -> None:
    tokyo = {"timezone_id": "Asia/Tokyo", "locale": "en-US", "java_script_enabled": has_script}
    with signed_in(browser, fresh, BEN, **tokyo) as ben:
        ben.see(VOTE).get_by_role("button", name="Vote", exact=True).click()
        time = ben.page.locator("main time").last
        at = datetime.fromisoformat(time.get_attribute("datetime") or "") + timedelta(hours=hours)
        assert time.inner_text().replace("\u202f", " ") == f"{at:%-I:%M %p}{zone}"
        title = (time.get_attribute("title") or "").replace("\u202f", " ")
        assert title == f"{at:%b %-d, %Y, %-I:%M %p}{zone}"
