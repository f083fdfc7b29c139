"""An owner looks at the numbers of a bot in a real browser, and a voter chooses to be named there."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.gateways import BOT
from tests.support.people_filled import filled_site, signed_in
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import ADA, CLEO
from tests.support.webhook_receiver import Receiver

HERE = f"/bots/{BOT}/manage"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, receiver_of_all: Receiver) -> Iterator[PeopleGateway]:
    with filled_site(tmp_path_factory.mktemp("site") / "data", receiver_of_all) as gateway:
        yield gateway


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "scriptless"])
def test_an_owner_reads_the_numbers_by_keyboard_and_takes_them_home(
    browser: Browser, site: PeopleGateway, scripts: bool
) -> None:
    with signed_in(browser, site, ADA, java_script_enabled=scripts, locale="en") as visitor:
        page = visitor.see(HERE)
        page.get_by_role("link", name="Votes", exact=True).click()
        expect(
            page.get_by_role("img", name="Votes per day. The table below has every number.")
        ).to_be_visible()
        table = page.get_by_role("table", name="Votes per day")
        expect(table).to_be_hidden()
        page.get_by_text("As a table").first.focus()
        page.keyboard.press("Enter")
        expect(table).to_be_visible()
        expect(table.get_by_role("row")).to_have_count(1 + 30)
        if scripts:
            assert visitor.flaws() == []
        with page.expect_download() as download:
            page.get_by_role("link", name="Spreadsheet").click()
        text = Path(download.value.path()).read_text()
        assert text.startswith("what,when,count")


def test_a_voter_is_named_to_owners_after_one_press_and_no_more_after_another(
    browser: Browser, site: PeopleGateway
) -> None:
    def top() -> list[str]:
        told = json.loads(site.person(ADA).page(f"{HERE}/votes.json"))
        return [each["user"] for each in told["top_voters"]]

    with signed_in(browser, site, CLEO, locale="en") as visitor:
        page = visitor.see("/me/votes")
        assert CLEO not in top()
        page.get_by_role("button", name="Show my name").press("Enter")
        expect(page.get_by_text("Owners, moderators and operators may see your name now.")).to_be_visible()
        assert CLEO in top()
        page.get_by_role("button", name="Hide my name").press("Enter")
        expect(page.get_by_text("Nobody sees your name among top voters any more.")).to_be_visible()
        assert CLEO not in top()
