"""A voter in a real browser: votes, opts in, is told once, and opts out from the link of the message."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import visiting
from tests.support.gateways import BOT, eventually
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import BEN, BOT_TOKEN

VOTE = f"/bots/{BOT}/vote"
DAY = 86_400


@pytest.fixture
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(
        tmp_path_factory.mktemp("people") / "data", **{"chat_platform.bot_token": BOT_TOKEN}
    ) as gateway:
        gateway.list_bot()
        yield gateway


def told(gateway: PeopleGateway) -> str:
    """The one message that Ben has."""

    def messages() -> list[str]:
        return gateway.stand_in.messages(BEN)

    eventually(messages)
    (text,) = messages()
    return text


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "scriptless"])
def test_a_voter_is_reminded_once_and_turns_it_off_from_the_message(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    with visiting(
        browser, gateway, hosts=(gateway.stand_in.url,), java_script_enabled=scripts, locale="en"
    ) as visitor:
        visitor.expected |= {404}  # the icon of the stand-in
        page = visitor.see(VOTE)
        page.get_by_role("button", name="Sign in and vote").click()
        page.locator(f"input[value='{BEN}']").check()
        page.get_by_role("button", name="Approve").click()
        page.get_by_role("button", name="Vote", exact=True).click()
        expect(page.get_by_role("heading", name="Thank you, Ben")).to_be_visible()
        page.get_by_role("button", name="Remind me: Test bot").click()
        expect(page.get_by_text("You are reminded when you can vote for it again.")).to_be_visible()
        expect(page.get_by_role("button", name="Turn the reminder off: Test bot")).to_be_visible()

        page.get_by_role("button", name="Your account").click()
        page.get_by_role("link", name="My votes").click()
        expect(page.get_by_role("list", name="Later").get_by_role("listitem")).to_contain_text("in 1 day, at")
        gateway.advance(DAY)
        page.reload()
        ready = page.get_by_role("list", name="You can vote for these now").get_by_role("listitem")
        expect(ready.get_by_role("link", name="Vote for Test bot")).to_be_visible()
        expect(ready.get_by_role("button", name="Turn the reminder off: Test bot")).to_be_visible()
        page.get_by_role("link", name="Notices: 1 new").click()
        expect(page.get_by_text("You can vote for Test bot again.")).to_have_count(1)
        page.get_by_role("button", name="Mark all as read").click()
        expect(page.get_by_role("link", name="Notices: 1 new")).to_have_count(0)

        link = re.search(rf"{visitor.home}(/me/reminders/\S+)>", told(gateway))
        assert link is not None
        visitor.see(link[1])
        expect(page.get_by_text("You are reminded when you can vote for Test bot again.")).to_be_visible()
        if scripts:
            assert visitor.flaws() == []
        page.get_by_role("button", name="Turn the reminder off: Test bot").press("Enter")
        expect(page.get_by_text("You are not reminded of it any more.")).to_be_visible()
        visitor.see("/me/notices")
        expect(page.get_by_text("You can vote for Test bot again.")).to_have_count(0)
