"""Users use a listing on a phone and by keyboard: a review from its author to its removal, emojis
that go to a server, and a description with an image of another site."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.browser import Visitor
from tests.support.certificate_authority import trusted
from tests.support.described_images import BOT_PAGE, describe
from tests.support.gateways import BOT, BOT_SUBMISSION
from tests.support.listed_emojis import approved, digest
from tests.support.media_files import picture
from tests.support.people_filled import signed_in
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, BOT_TOKEN, CLEO, DAN, GOOD_SERVER
from tests.support.walker import Walk
from tests.support.webhook_receiver import Receiver, receiving, status

MOST_STOPS = 80
WORDS = "It plays all day, and has stopped only once."


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """A site of others, with one picture."""
    with pytest.MonkeyPatch.context() as patch:
        authority = trusted(tmp_path_factory.mktemp("authority"), patch)
        with receiving(authority.server("127.0.0.1", "images.example")) as receiver:
            receiver.default = status(200, picture(size=(900, 300)), Content_Type="image/png")
            yield receiver


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, images: Receiver) -> Iterator[PeopleGateway]:
    del images  # the gateway trusts its authority
    settings = {"chat_platform.bot_token": BOT_TOKEN}
    with serving(tmp_path_factory.mktemp("uses") / "data", **settings) as gateway:
        gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
        gateway.done("POST", f"/manage/bots/{BOT}/approve", {})
        gateway.done("PUT", f"/manage/users/{CLEO}/moderator")
        for user in (BEN, DAN):
            gateway.done("POST", f"/manage/bots/{BOT}/votes", {"user": user})
        yield gateway


def reach(target: Locator) -> None:
    """Go to an element with the Tab key."""
    page = target.page
    page.locator("main").evaluate("each => each.focus()")
    for _ in range(MOST_STOPS):
        if target.evaluate("each => each === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"no Tab reaches {target}")


def press(target: Locator) -> None:
    """Press a link or the button of a form, and wait for the page that follows."""
    reach(target)
    with target.page.expect_navigation():
        target.page.keyboard.press("Enter")


def choose(target: Locator) -> None:
    reach(target)
    target.page.keyboard.press("Space")


def write(target: Locator, text: str) -> None:
    reach(target)
    target.page.keyboard.press("ControlOrMeta+a")
    target.page.keyboard.insert_text(text)


def on_a_phone(visitor: Visitor, path: str) -> Walk:
    walk = Walk(visitor, 360)
    walk.see(path)
    return walk


def test_a_review_is_written_answered_reported_and_removed_by_keyboard(
    browser: Browser, site: PeopleGateway
) -> None:
    here = f"/bots/{BOT}/reviews"
    with signed_in(browser, site, BEN) as visitor:
        page = on_a_phone(visitor, here).page
        choose(page.get_by_role("radio", name="1 star"))
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        expect(page.get_by_role("radio", name="4 stars")).to_be_checked()
        write(page.get_by_label("Your review"), WORDS)
        press(page.get_by_role("button", name="Post the review"))
        expect(page.locator(".reviews")).to_contain_text(WORDS)
        assert visitor.flaws() == []
    with signed_in(browser, site, ADA) as visitor:
        page = on_a_phone(visitor, here).page
        press(page.get_by_role("link", name="Reply"))
        write(page.locator("main textarea"), "Thank you! It stops no more.")
        assert visitor.flaws() == []
        press(page.locator("main form .button.primary").first)
        expect(page.locator(".reviews blockquote")).to_contain_text("Thank you! It stops no more.")
    with signed_in(browser, site, DAN) as visitor:
        page = on_a_phone(visitor, here).page
        press(page.locator(".reviews").get_by_role("link", name="Report"))
        choose(page.locator("main input[type=radio]").first)
        assert visitor.flaws() == []
        press(page.locator("main form .button.primary").first)
    with signed_in(browser, site, CLEO) as visitor:
        page = on_a_phone(visitor, f"/review/bots/{BOT}").page
        press(page.get_by_role("link", name="See the review, and remove it"))
        write(page.locator("main textarea"), "They are friends.")
        assert visitor.flaws() == []
        press(page.locator("main form .button.danger, main form .button.primary").first)
        expect(page.get_by_text("No reviews yet")).to_be_visible()


def test_an_emoji_goes_to_a_server_by_keyboard(browser: Browser, site: PeopleGateway) -> None:
    here = approved(site, digest(site, 1), name="single")
    site.stand_in.change_server(GOOD_SERVER, bot_adds_emojis=True, emoji_slots=9)
    with signed_in(browser, site, ADA) as visitor:
        page = on_a_phone(visitor, here).page
        press(page.get_by_role("link", name="Add to my server"))
        press(page.get_by_role("button", name="Read my servers"))
        page.wait_for_url("**/add-to-server")
        press(page.locator(f"a[href$='server={GOOD_SERVER}']"))
        assert visitor.flaws() == []
        press(page.get_by_role("button", name="Add to this server"))
        expect(page.locator("#notices")).to_contain_text("your server has the emojis now")


def test_an_image_of_a_description_comes_from_us_and_fits_a_phone(
    browser: Browser, site: PeopleGateway, images: Receiver
) -> None:
    describe(site, f"{images.url}/wide.png")
    with signed_in(browser, site, None) as visitor:
        page = on_a_phone(visitor, BOT_PAGE).page
        image = page.locator(".prose img")
        image.scroll_into_view_if_needed()
        expect(image).to_have_js_property("naturalWidth", 900)
        expect(image).to_have_attribute("src", re.compile("^/"))
        assert visitor.flaws() == [], "and it asks no other host"
