"""The review page in a real browser: a bot is claimed, noted on, denied, sent again and approved."""

from collections.abc import Iterator
from functools import partial

import pytest
from playwright.sync_api import Browser, expect

from core.events import VoteFlagged
from tests.support.browser import THEMES, Theme
from tests.support.gateways import BOT_SUBMISSION
from tests.support.people_filled import signed_in
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, READY, SILENT

HERE = f"/review/bots/{READY}"
SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "scriptless"])


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("review") / "data") as gateway:
        yield gateway


def submit(gateway: PeopleGateway, bot: str = READY, name: str = "Jukebox") -> None:
    gateway.operate("DELETE", f"/manage/bots/{bot}")
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": bot, "owner_id": ADA, "name": name})
    gateway.clock.advance(600)


@SCRIPTS
def test_a_moderator_claims_notes_denies_and_approves(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    submit(gateway)
    with signed_in(browser, gateway, CLEO, java_script_enabled=scripts) as visitor:
        visitor.expected |= {400, 404}
        page = visitor.see("/review")
        page.get_by_role("link", name="Jukebox").click()
        page.get_by_role("button", name="Claim it").click()
        expect(page.get_by_text("Claimed by you")).to_be_visible()
        page.get_by_label("Note").fill("The invite works.")
        page.get_by_role("button", name="Keep the note").click()
        expect(page.get_by_text("The invite works.")).to_be_visible()
        page.get_by_label("Reason", exact=True).first.select_option("It does not answer")
        page.get_by_label("In your words").fill("I tried it twice")
        page.get_by_role("button", name="Deny it").click()
        expect(page.get_by_text("It is denied.")).to_be_visible()
        form = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}
        gateway.done("PUT", f"/manage/bots/{READY}", {**form, "owner_id": ADA, "name": "Jukebox"})
        page = visitor.see(HERE)
        expect(page.get_by_role("heading", name="Earlier denials")).to_be_visible()
        page.get_by_role("button", name="Approve it").click()
        expect(page.get_by_role("alert")).to_contain_text("The ownership is not verified")
        page.get_by_label("I have made sure").check()
        page.get_by_role("button", name="Approve it").click()
        expect(page.get_by_text("It is approved: users can vote for it.")).to_be_visible()
        page.get_by_role("link", name="Decided").click()
        expect(page.get_by_role("link", name="Jukebox")).to_be_visible()


@pytest.mark.parametrize("theme", THEMES)
def test_no_note_quarantine_or_refusal_has_a_barrier_or_scrolls_sideways(
    browser: Browser, gateway: PeopleGateway, theme: Theme
) -> None:
    submit(gateway)
    submit(gateway, SILENT, "Another one of the same owner")
    found = {}
    with signed_in(browser, gateway, CLEO, color_scheme=theme) as visitor:
        visitor.expected |= {400, 404, 409}
        page = visitor.see(HERE)
        page.get_by_label("Note").fill("The invite works. " + "x" * 200)
        page.get_by_role("button", name="Keep the note").click()
        page.get_by_text("Forbid the owner something").click()
        found["a review"] = visitor.flaws()
        page.get_by_label("Reason", exact=True).last.fill("Spam in three listings.")
        page.get_by_role("button", name="Forbid it").click()
        found["a quarantine"] = visitor.flaws()
        page.get_by_role("button", name="Lift").click()
        page.get_by_role("button", name="Deny it").click()
        found["a refused denial"] = visitor.flaws()
        gateway.done("POST", f"/manage/bots/{READY}/deny", {"reason": "It is silent. " + "x" * 200})
        page.get_by_label("In your words").fill("Too late")
        page.get_by_role("button", name="Deny it").click()
        expect(page.get_by_role("heading", name="It is decided already")).to_be_visible()
        found["overtaken"] = visitor.flaws()
        visitor.see(HERE)
        found["decided"] = visitor.flaws()
        form = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}
        again = {"owner_id": ADA, "name": "W" * 100, "description": "It is loud.\n" + "x" * 200}
        gateway.done("PUT", f"/manage/bots/{READY}", {**form, **again})
        visitor.see(HERE)
        expect(page.get_by_role("table", name="Changed fields")).to_be_visible()
        found["sent again"] = visitor.flaws()

    assert {name: flaws for name, flaws in found.items() if flaws} == {}


def approve_and_swap(gateway: PeopleGateway, **fields: str) -> None:
    submit(gateway)
    gateway.done("POST", f"/manage/bots/{READY}/approve", {})
    gateway.clock.advance(600)
    form = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}
    swapped = {"owner_id": ADA, "name": "Free Nitro", "description": "It is loud.\nمجانا لكم جميعا الآن"}
    gateway.done("PUT", f"/manage/bots/{READY}", {**form, **swapped, **fields})


@SCRIPTS
def test_a_moderator_refuses_a_change_and_withdraws_an_approval(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    approve_and_swap(gateway)
    with signed_in(browser, gateway, CLEO, java_script_enabled=scripts) as visitor:
        visitor.expected |= {400, 404}
        page = visitor.see("/review")
        expect(page.get_by_role("row", name="Free Nitro Bot change")).to_be_visible()
        page.get_by_role("link", name="Free Nitro").click()
        changed = page.get_by_role("table", name="Changed fields")
        expect(changed.locator("del").first).to_have_text("Gone: Jukebox")
        expect(changed.locator("ins").first).to_have_text("New: Free Nitro")
        page.get_by_role("button", name="Refuse the change").click()
        expect(page.get_by_role("alert")).to_contain_text("Choose a reason")
        page.get_by_label("Reason", exact=True).first.select_option("Its page is misleading")
        page.get_by_role("button", name="Refuse the change").click()
        expect(page.get_by_text("The change is refused.")).to_be_visible()
        page = visitor.see(HERE)
        page.get_by_text("Take the listing off the site").click()
        page.get_by_label("In your words").fill("It asks for passwords")
        page.get_by_role("button", name="Withdraw the approval").click()
        expect(page.get_by_text("The approval is withdrawn.")).to_be_visible()
        page.get_by_role("link", name="Decided").click()
        expect(page.get_by_text("It asks for passwords.").first).to_be_visible()
    assert gateway.done("GET", f"/manage/bots/{READY}")["state"] == "denied"


@pytest.mark.parametrize("theme", THEMES)
def test_no_change_has_a_barrier_or_scrolls_sideways_or_needs_colour(
    browser: Browser, gateway: PeopleGateway, theme: Theme
) -> None:
    found = {}
    approve_and_swap(gateway, name="W" * 100, support_invite="https://free-nitro.example/" + "x" * 150)
    with signed_in(browser, gateway, CLEO, color_scheme=theme) as visitor:
        visitor.expected |= {400, 404, 409}
        page = visitor.see("/review")
        found["the queue"] = visitor.flaws()
        page = visitor.see(HERE)
        page.get_by_text("Take the listing off the site").click()
        found["a change"] = visitor.flaws()
        lines = {"del": "line-through", "ins": "underline"}
        for mark, line in lines.items():
            style = page.locator(mark).first.evaluate("it => getComputedStyle(it).textDecorationLine")
            assert style == line
        rtl = page.get_by_text("مجانا لكم").first
        assert rtl.evaluate("it => getComputedStyle(it.closest('p')).direction") == "rtl"
        approve_and_swap(gateway, name="Another swap meanwhile")
        page.get_by_role("button", name="Agree to it").click()
        expect(page.get_by_role("alert")).to_contain_text("The change is not the one that you saw.")
        expect(page.get_by_role("heading", name="Another swap meanwhile")).to_be_visible()
        found["overtaken"] = visitor.flaws()
        page.get_by_role("button", name="Agree to it").press("Enter")
        expect(page.get_by_text("The change is agreed to")).to_be_visible()
    with signed_in(browser, gateway, ADA, color_scheme=theme) as visitor:
        visitor.expected.add(404)
        approve_and_swap(gateway, name="W" * 100)
        for path in ("/me", f"/bots/{READY}/manage", f"/bots/{READY}/manage/profile", "/me/notices"):
            visitor.see(path)
            found[path] = visitor.flaws()
    assert {name: flaws for name, flaws in found.items() if flaws} == {}


@SCRIPTS
def test_a_moderator_strikes_flagged_votes_out_after_a_count(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    gateway.clock.advance(86_400)  # a cooldown outlives the strike
    submit(gateway)
    gateway.done("POST", f"/manage/bots/{READY}/approve", {})
    now_ms = gateway.clock.now_ms()
    for user in (BEN, DAN):
        gateway.cast(user, f"/manage/bots/{READY}")
        flag = VoteFlagged(f"bots/{READY}", user, "burst", f"f{user}", now_ms)
        gateway.on_loop(partial(gateway.gateway.ledger.commit, [flag]))
    with signed_in(browser, gateway, CLEO, java_script_enabled=scripts) as visitor:
        visitor.expected.add(400)
        page = visitor.see("/review/votes")
        page.get_by_role("link", name="Strike votes for Jukebox out").first.click()
        page.get_by_label("Reason", exact=True).fill("Accounts of one person.")
        page.get_by_role("button", name="Count them first").click()
        expect(page.get_by_role("alert")).to_contain_text("choose users")
        assert not scripts or visitor.flaws() == []
        page.get_by_label(f"user {BEN}").check()
        page.get_by_role("button", name="Count them first").click()
        expect(page.get_by_text("1 vote, 1 voter")).to_be_visible()
        assert not scripts or visitor.flaws() == []
        page.get_by_role("button", name="Strike them out").click()
        expect(page.get_by_text("The votes are struck out.")).to_be_visible()
        expect(page.get_by_role("checkbox")).to_have_count(1)
        assert not scripts or visitor.flaws() == []
    votes = gateway.done("POST", f"/manage/bots/{READY}/votes/check", {"users": [BEN, DAN]})["votes"]
    assert [each["vote"] for each in votes] == [0, 1]
