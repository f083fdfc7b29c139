"""A listing of each kind on the platform of `make demo`, from its submission with files to its download.

The walks are made of the declarations in `kinds/`. On a phone everything is done by keyboard; on a computer
without scripts. Servers, which an owner chooses from a list, have their walk in `test_demo_walks.py`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from demo.known import UNLISTED_BOTS
from demo.people import BEN, CLEO, DAN, EMIL
from forms.file_fields import EXTENSIONS
from kinds.kind import Given, Kind
from kinds.registry import KINDS
from tests.support.browser import THEMES, Visitor
from tests.support.demo_site import DemoSite, demo_site
from tests.support.media_files import picture, sound
from tests.support.people_filled import signed_in
from tests.support.platform_stand_in import GAME_NIGHT, STUDY_HALL
from tests.support.walker import Walk, walking

WALKED = [kind for kind in KINDS if kind.known_as != "server"]
WIDTHS = (360, 1_280)
OWNERS = {360: EMIL, 1_280: BEN}
"""The owner in the walk of each width. Neither has a profile before."""
NAMES = {360: "walked_on_a_phone", 1_280: "walked_at_a_desk"}
COLOURS = {360: ("#123456", "#fedcba"), 1_280: ("#101820", "#f2aa4c")}
PICTURES = 4
"""The pictures of a package."""
MOST_STOPS = 120


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoSite]:
    with demo_site(tmp_path_factory.mktemp("demo")) as site:
        yield site


@pytest.fixture(params=WALKED, ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


def files_for(kind: Kind, name: str, width: int) -> list[FilePayload]:
    """Return files for a field, others for each walk: listings may not share them without a moderator seeing
    it."""
    rules = kind.file_rules[name]
    if rules.sort == "sound":
        return [FilePayload(name="../a sound.mp3", mimeType="audio/mpeg", buffer=sound(seconds=width / 720))]
    count = PICTURES if kind.shown[name].widget == "pictures" else 1
    sizes = [(width + 40 * number, 200) for number in range(count)]
    return [
        FilePayload(name="picture.png", mimeType="image/png", buffer=picture("PNG", size=size))
        for size in sizes
    ]


def written_for(kind: Kind, width: int) -> Mapping[str, Any]:
    """Return the values of a form, other ones for each width."""
    values: dict[str, Any] = {**kind.written(kind.sample), "name": NAMES[width]}
    number = WIDTHS.index(width)
    values |= zip(kind.colours or (), COLOURS[width], strict=False)
    if kind.slug is not None:
        values[kind.slug] = NAMES[width]
    if isinstance(kind.id, Given):
        values["id"] = [*(UNLISTED_BOTS if kind.has_snowflakes else (GAME_NIGHT, STUDY_HALL))][number]
    return values


def as_typed(value: Any) -> str:
    return "\n".join(value) if isinstance(value, tuple) else str(value or "")


def fill(page: Page, kind: Kind, width: int) -> None:
    """Fill a form in, as a mouse does."""
    values = written_for(kind, width)
    for summary in page.locator("main details.more > summary").all():
        summary.click()
    for name, value in values.items():
        if name in kind.file_rules:
            page.locator(f"#{name}-file").set_input_files(files_for(kind, name, width))
        elif name in kind.shown and kind.shown[name].widget == "choices":
            for each in value:
                page.locator(f"input[name={name}][value='{each}']").check()
        elif name in kind.shown and kind.shown[name].widget in {"choice", "tick"}:
            continue
        else:
            page.locator(f"main [name={name}]").fill(as_typed(value))


FOCUSED = """() => {
    const at = document.activeElement
    return [at.tagName, at.getAttribute("name") || "", at.type || "", at.value || "", at.textContent.trim()]
}"""


def type_in(page: Page, kind: Kind, width: int, button: str) -> None:
    """Fill a form in with the keyboard alone, and press its button."""
    values, seen = written_for(kind, width), set[str]()
    page.locator("main h1").first.evaluate("each => { each.tabIndex = -1; each.focus() }")
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        tag, name, sort, value, text = page.evaluate(FOCUSED)
        if tag == "SUMMARY":
            page.keyboard.press("Enter")
        elif sort == "file":
            with page.expect_file_chooser() as chooser:
                page.keyboard.press("Space")
            chooser.value.set_files(files_for(kind, name, width))
        elif sort == "checkbox" and value in (values.get(name) or ()):
            page.keyboard.press("Space")
        elif tag in {"INPUT", "TEXTAREA"} and sort in {"text", "url", "textarea"} and name in values:
            page.keyboard.press("ControlOrMeta+a")
            page.keyboard.insert_text(as_typed(values[name]))
        elif tag == "BUTTON" and text == button:
            assert kind.shown.keys() - seen == set(), "fields that no Tab reaches"
            page.keyboard.press("Enter")
            return
        seen.add(name)
    pytest.fail(f"no Tab reaches the button {button}")


def submitted(walk: Walk, kind: Kind, *, scripts: bool) -> str:
    """Submit a listing, and return its ref."""
    page = walk.visitor.see(f"/{kind}/new")
    if scripts:
        walk.look()
        button = page.locator("main form[data-draft] .button.primary").inner_text()
        type_in(page, kind, walk.width, button)
    else:
        fill(page, kind, walk.width)
        page.locator("main form[data-draft] .button.primary").click()
    page.wait_for_url("**/manage")
    found = re.search(rf"/({kind}/[^/]+)/manage", page.url)
    assert found is not None
    return found[1]


def shows(page: Page, kind: Kind) -> None:
    """Check that a page shows the files, the tree and the colours of a listing."""
    for name in kind.file_rules:
        sort = kind.file_rules[name].sort
        shown = page.locator("main audio" if sort == "sound" else "main img[src^='/files/']")
        expect(shown.locator("visible=true").first).to_be_visible()
    if kind.pictures:
        for look in THEMES:
            expect(page.locator(f"[data-look={look}] img").first).to_be_visible()
    if kind.has("tree"):
        expect(page.get_by_role("heading", name="What you get")).to_be_visible()
    if kind.has("colours"):
        expect(page.get_by_alt_text("A chat room in these colours").first).to_be_visible()


def votes_of(site: DemoSite, ref: str) -> int:
    """Return the votes or likes of a listing, as everybody sees them."""
    found: int = site.request("GET", f"/{ref}.json").json()["votes"]
    return found


def reviewed(browser: Browser, site: DemoSite, ref: str, kind: Kind, width: int) -> None:
    """Let a moderator look at a listing and approve it."""
    with walking(browser, site, CLEO.id, width) as walk:
        page = walk.see(f"/review/{ref}")
        shows(page, kind)
        sure = page.get_by_label("I have checked")
        if sure.count():
            walk.choose(sure)
        walk.click(page.get_by_role("button", name=re.compile("Approve and next")))
    assert site.done("GET", f"/manage/{ref}")["state"] == "approved"


def counted(browser: Browser, site: DemoSite, ref: str, kind: Kind, width: int) -> None:
    """Let somebody else like the listing, or vote for it."""
    with walking(browser, site, DAN.id, width) as walk:
        page = walk.see(f"/{ref}")
        shows(page, kind)
        if kind.has("likes"):
            walk.click(page.get_by_role("button", name=re.compile("Like ")).first)
            expect(page.locator("button[aria-pressed=true]").first).to_be_attached()
        elif kind.has("votes"):
            page = walk.visitor.see(f"/{ref}/vote")
            walk.click(page.get_by_role("button", name=re.compile("^Vote")))
            expect(page.get_by_role("heading", level=1)).to_contain_text("Thank you")
    if kind.has("tally"):
        assert votes_of(site, ref) == 1


def downloaded(visitor: Visitor, ref: str, kind: Kind) -> None:
    """Let a visitor download the files."""
    page = visitor.see(f"/{ref}")
    field = kind.downloads.field if kind.downloads is not None else ""
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all as ZIP" if kind.pictures else "Download").first.click()
    name = download.value.suggested_filename
    endings = {"zip"} if kind.pictures else {EXTENSIONS[each] for each in kind.file_rules[field].media_types}
    assert name.rpartition(".")[2] in endings
    assert download.value.path().stat().st_size > 1_000


def edited(walk: Walk, site: DemoSite, ref: str, kind: Kind) -> None:
    """Let the owner change the name, and keep the files."""
    before, page = site.done("GET", f"/manage/{ref}"), walk.see(f"/{ref}/manage/profile")
    page.locator("main [name=name]").fill(NAMES[walk.width][::-1])
    walk.click(page.get_by_role("button", name="Save").first)
    after = site.done("GET", f"/manage/{ref}")
    assert NAMES[walk.width][::-1] in {after["name"], (after.get("change") or {}).get("name")}
    assert {name: after[name] for name in kind.file_rules} == {name: before[name] for name in kind.file_rules}


def test_a_listing_comes_from_its_submission_by_keyboard_to_its_download(
    browser: Browser, site: DemoSite, kind: Kind
) -> None:
    width = 360
    with walking(browser, site, OWNERS[width].id, width) as walk:
        ref = submitted(walk, kind, scripts=True)
        if not kind.is_seen_at_once:
            reviewed(browser, site, ref, kind, width)
        counted(browser, site, ref, kind, width)
        if kind.has("downloads"):
            with signed_in(browser, site, None) as visitor:
                downloaded(visitor, ref, kind)
        edited(walk, site, ref, kind)


def test_a_listing_is_submitted_liked_and_downloaded_scriptless(
    browser: Browser, site: DemoSite, kind: Kind
) -> None:
    width, scripts = 1_280, {"java_script_enabled": False}
    with signed_in(browser, site, OWNERS[width].id, **scripts) as visitor:
        ref = submitted(Walk(visitor, width), kind, scripts=False)
    if not kind.is_seen_at_once:
        site.done("POST", f"/manage/{ref}/approve", {})
    with signed_in(browser, site, DAN.id, **scripts) as visitor:
        page = visitor.see(f"/{ref}")
        shows(page, kind)
        if kind.has("likes"):
            page.get_by_role("button", name=re.compile("Like ")).first.click()
            expect(page.locator("button[aria-pressed=true]").first).to_be_attached()
            assert votes_of(site, ref) == 1
        if kind.has("downloads"):
            downloaded(visitor, ref, kind)


@pytest.mark.parametrize("theme", THEMES)
def test_the_pages_of_a_kind_run_from_right_to_left_without_a_flaw(
    browser: Browser, site: DemoSite, kind: Kind, theme: str
) -> None:
    listed = next(each for each in site.listings.values() if each.kind is kind and each.fate == "approved")
    with signed_in(browser, site, None, color_scheme=theme) as visitor:
        for path in (f"/{kind}", f"/{listed.ref}"):
            page = visitor.see(path)
            page.evaluate("document.documentElement.dir = 'rtl'")
            assert visitor.flaws() == [], path
