"""The review page in a real browser: a bot is claimed, noted on, denied, sent again and approved."""

from collections.abc import Iterator
from functools import partial

import pytest
from playwright.sync_api import Browser, expect

from core.actors import user_actor
from core.events import VoteFlagged
from tests.support.browser import THEMES, Theme
from tests.support.gateways import BOT_SUBMISSION
from tests.support.people_filled import signed_in
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, READY, SILENT
from tests.support.slots_set import ownership_proven

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
        expect(page.get_by_role("button", name="Release the claim")).to_be_visible()
        page.get_by_text("Notes of moderators").click()
        page.get_by_label("Note", exact=True).fill("The invite works.")
        page.get_by_role("button", name="Save the note").click()
        expect(page.get_by_text("The invite works.")).to_be_visible()
        page.get_by_text("Deny…").click()
        page.get_by_label("In your words").fill("I tried it twice")
        page.get_by_role("button", name="It does not answer").click()
        expect(page.get_by_text("It is denied.")).to_be_visible()
        form = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}
        gateway.done("PUT", f"/manage/bots/{READY}", {**form, "owner_id": ADA, "name": "Jukebox"})
        page = visitor.see(HERE)
        expect(page.get_by_text("I tried it twice.").first).to_be_visible()
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("alert")).to_contain_text("The ownership is not verified")
        page.get_by_label("I have checked").check()
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_text("It is approved: everybody can see it.")).to_be_visible()
        page.get_by_role("link", name="Done").click()
        expect(page.get_by_role("link", name="Jukebox").first).to_be_visible()


PROVEN = 50
"""The submissions of the walk that counts presses."""


@SCRIPTS
def test_fifty_decisions_take_two_presses_each_at_most(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    for bot in (READY, SILENT):
        gateway.operate("DELETE", f"/manage/bots/{bot}")
    bots = [str(6 * 10**17 + number) for number in range(PROVEN)]
    for number, bot in enumerate(bots):
        form = {**BOT_SUBMISSION, "id": bot, "owner_id": ADA, "name": f"Bot {number}"}
        gateway.done("POST", "/manage/bots", form)
        proof = ownership_proven(f"bots/{bot}", gateway.clock.now_ms(), by=user_actor(ADA))
        gateway.on_loop(partial(gateway.gateway.ledger.commit, [proof]))
        gateway.clock.advance(60)
    gateway.clock.advance(3_600)
    presses = 0
    with signed_in(browser, gateway, CLEO, java_script_enabled=scripts) as visitor:
        visitor.expected |= {404}
        page = visitor.see("/review?kind=bots")
        page.get_by_role("link", name="Begin with the first").click()
        for number in range(PROVEN):
            expect(page.get_by_role("heading", level=1)).to_have_text(f"Bot {number}")
            expect(page.get_by_role("button", name="Approve")).to_be_in_viewport()
            if number % 2:
                page.get_by_text("Deny…").click()
                page.get_by_role("button", name="It does not answer").click()
                presses += 2
            else:
                page.get_by_role("button", name="Approve").click()
                presses += 1
            gateway.clock.advance(2)
        expect(page.get_by_text("Nothing waits for a decision")).to_be_visible()
    assert presses == PROVEN * 3 / 2
    states = {gateway.done("GET", f"/manage/bots/{bot}")["state"] for bot in bots[1::2]}
    assert states == {"denied"}
    assert {gateway.done("GET", f"/manage/bots/{bot}")["state"] for bot in bots[::2]} == {"approved"}
    for bot in bots:
        gateway.done("DELETE", f"/manage/bots/{bot}")


def test_letters_press_the_buttons_unless_somebody_types_or_has_turned_them_off(
    browser: Browser, gateway: PeopleGateway
) -> None:
    submit(gateway, READY, "First")
    submit(gateway, SILENT, "Second")
    with signed_in(browser, gateway, CLEO) as visitor:
        visitor.expected |= {400, 404}
        page = visitor.see(HERE)
        heading = page.get_by_role("heading", level=1)
        page.keyboard.press("j")
        expect(heading).to_have_text("Second")
        page.keyboard.press("k")
        expect(heading).to_have_text("First")
        page.keyboard.press("Control+j")
        page.get_by_text("Notes of moderators").click()
        page.get_by_label("Note", exact=True).press_sequentially("jkda")
        expect(page.get_by_label("Note", exact=True)).to_have_value("jkda")
        page.get_by_role("heading", name="Checks").click()
        page.keyboard.press("d")
        expect(page.get_by_label("In your words")).to_be_visible()
        assert page.evaluate("document.activeElement.name") == "reason"
        page.get_by_role("button", name="Keys").click()
        for letter in "jka":
            page.keyboard.press(letter)
        page.reload()
        expect(page.get_by_role("button", name="Keys")).to_have_attribute("aria-pressed", "false")
        page.keyboard.press("a")
        expect(heading).to_have_text("First")
        page.get_by_role("button", name="Keys").click()
        page.get_by_role("heading", name="Checks").click()
        page.keyboard.press("a")
        expect(page.get_by_role("alert")).to_contain_text("The ownership is not verified")
    assert gateway.done("GET", f"/manage/bots/{READY}")["state"] == "in_review"


@SCRIPTS
def test_a_user_reports_a_bot_and_a_moderator_keeps_it(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    gateway.operate("DELETE", f"/manage/bots/{SILENT}")
    submit(gateway)
    gateway.done("POST", f"/manage/bots/{READY}/approve", {})
    with signed_in(browser, gateway, BEN, java_script_enabled=scripts) as visitor:
        visitor.expected |= {404}
        page = visitor.see(f"/bots/{READY}/report")
        assert not scripts or visitor.flaws() == []
        page.get_by_label("It does not work").check()
        page.get_by_label("In your words").fill("It joins, but answers no command.")
        page.get_by_role("button", name="Send the report").click()
        expect(page.get_by_text("The moderators have your report.")).to_be_visible()
    with signed_in(browser, gateway, CLEO, java_script_enabled=scripts) as visitor:
        visitor.expected |= {404}
        page = visitor.see("/review")
        page.get_by_role("link", name="Reported 1").click()
        page.get_by_role("link", name="Jukebox").first.click()
        expect(page.get_by_text("It joins, but answers no command.")).to_be_visible()
        expect(page.get_by_text("Ben, who votes")).to_be_visible()
        assert not scripts or visitor.flaws() == []
        page.get_by_role("button", name="Keep the listing").click()
        expect(page.get_by_text("The reports are settled.")).to_be_visible()
        expect(page.get_by_text("No report is open")).to_be_visible()


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
        page.get_by_text("Notes of moderators").click()
        page.get_by_label("Note", exact=True).fill("The invite works. " + "x" * 200)
        page.get_by_role("button", name="Save the note").click()
        page.get_by_text("Quarantine of the owner").click()
        found["a review"] = visitor.flaws()
        page.get_by_label("Reason", exact=True).fill("Spam in three listings.")
        page.get_by_role("button", name="Impose the quarantine").click()
        found["a quarantine"] = visitor.flaws()
        page.get_by_role("button", name="Lift").click()
        page.get_by_text("Deny…").click()
        page.get_by_role("button", name="Deny in these words").click()
        found["a refused denial"] = visitor.flaws()
        gateway.done("POST", f"/manage/bots/{READY}/deny", {"reason": "It is silent. " + "x" * 200})
        page.get_by_label("In your words").fill("Too late")
        page.get_by_role("button", name="Deny in these words").click()
        expect(page.get_by_role("heading", name="It is decided already")).to_be_visible()
        found["overtaken"] = visitor.flaws()
        visitor.see(HERE)
        found["decided"] = visitor.flaws()
        form = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}
        again = {"owner_id": ADA, "name": "W" * 100, "description": "It is loud.\n" + "x" * 200}
        gateway.done("PUT", f"/manage/bots/{READY}", {**form, **again})
        visitor.see(HERE)
        expect(page.get_by_role("table", name="What changed since the denial")).to_be_visible()
        found["sent again"] = visitor.flaws()

    assert {name: flaws for name, flaws in found.items() if flaws} == {}


def approve_and_swap(gateway: PeopleGateway, **fields: str) -> None:
    gateway.operate("DELETE", f"/manage/bots/{SILENT}")
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
        expect(page.get_by_role("link", name="Free Nitro Bot, change")).to_be_visible()
        page.get_by_role("link", name="Free Nitro").click()
        changed = page.get_by_role("table", name="What changed since the approval")
        expect(changed.locator("del").first).to_have_text("Removed: Jukebox")
        expect(changed.locator("ins").first).to_have_text("New: Free Nitro")
        page.get_by_text("Refuse…").click()
        page.get_by_role("button", name="Refuse in these words").click()
        expect(page.get_by_role("alert")).to_contain_text("Choose a reason")
        page.get_by_role("button", name="Its page is misleading").first.click()
        expect(page.get_by_text("The change is refused.")).to_be_visible()
        page = visitor.see(HERE)
        page.get_by_text("Withdraw the approval…").click()
        page.get_by_label("In your words").fill("It asks for passwords")
        page.get_by_role("button", name="Withdraw in these words").click()
        expect(page.get_by_text("The approval is withdrawn.")).to_be_visible()
        page.get_by_role("link", name="Done").click()
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
        page.get_by_text("Withdraw the approval…").click()
        found["a change"] = visitor.flaws()
        lines = {"del": "line-through", "ins": "underline"}
        for mark, line in lines.items():
            style = page.locator(mark).first.evaluate("it => getComputedStyle(it).textDecorationLine")
            assert style == line
        rtl = page.get_by_text("مجانا لكم").first
        assert rtl.evaluate("it => getComputedStyle(it.closest('p')).direction") == "rtl"
        approve_and_swap(gateway, name="Another swap meanwhile")
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("alert")).to_contain_text("The change is not the one that you saw.")
        expect(page.get_by_role("heading", name="Another swap meanwhile")).to_be_visible()
        found["overtaken"] = visitor.flaws()
        page.get_by_role("button", name="Approve").press("Enter")
        expect(page.get_by_text("The change is approved")).to_be_visible()
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
    gateway.person(BEN)  # only who has signed in here has a name
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
        page.get_by_role("link", name="Remove votes for Jukebox").first.click()
        page.get_by_label("Reason", exact=True).fill("Accounts of one person.")
        page.get_by_role("button", name="Count them first").click()
        expect(page.get_by_role("alert")).to_contain_text("Choose users")
        assert not scripts or visitor.flaws() == []
        page.get_by_label("Ben, who votes").check()
        page.get_by_role("button", name="Count them first").click()
        expect(page.get_by_text("1 vote, 1 voter")).to_be_visible()
        assert not scripts or visitor.flaws() == []
        page.get_by_role("button", name="Remove them").click()
        expect(page.get_by_text("They are removed.")).to_be_visible()
        expect(page.get_by_role("checkbox")).to_have_count(1)
        assert not scripts or visitor.flaws() == []
    votes = gateway.done("POST", f"/manage/bots/{READY}/votes/check", {"users": [BEN, DAN]})["votes"]
    assert [each["vote"] for each in votes] == [0, 1]
