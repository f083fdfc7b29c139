"""Every action of the pages, with its question first, and the overview that updates on its own."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from operators.live import SECONDS
from operators.operator_actions import ACTIONS
from tests.support.browser import Visitor, visiting
from tests.support.debug_scene import NEW_BOT, filled_scene
from tests.support.gateways import BOT, OTHER_USER, OWNER, USER, ThreadGateway, eventually
from tests.support.webhook_receiver import Receiver, status

BOT_PAGE, NEW_PAGE = f"/debug/listings/bots/{BOT}", f"/debug/listings/bots/{NEW_BOT}"
TESTED = {
    *("approve", "deny", "counts", "limits", "probe", "resume"),
    "redeliver",
    "withdraw",
    *("snapshot", "verify", "backup"),
}


@pytest.fixture
def gateway(tmp_path: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    with filled_scene(tmp_path / "data", receiver) as gateway:
        yield gateway


@pytest.fixture
def operator(browser: Browser, gateway: ThreadGateway) -> Iterator[Visitor]:
    with visiting(browser, gateway) as visitor:
        yield visitor.sign_in()


def act(operator: Visitor, where: str, link: str, button: str = "", **fields: str) -> None:
    """Follow the link of an action, fill its form in, and press its button, most often of the same name."""
    page = operator.see(where)
    page.get_by_role("main").get_by_role("link", name=link, exact=True).first.click()
    for label, value in fields.items():
        page.get_by_label(label.replace("_", " "), exact=True).fill(value)
    page.get_by_role("main").get_by_role("button", name=button or link, exact=True).click()


def told(operator: Visitor, text: str) -> None:
    expect(operator.page.locator("#notices")).to_contain_text(text)


def test_every_action_has_a_test_here() -> None:
    assert {each.slug for each in ACTIONS} == TESTED


def test_review_limits_and_counts(operator: Visitor, gateway: ThreadGateway) -> None:
    act(operator, NEW_PAGE, "Approve")
    told(operator, "It is approved.")
    act(operator, NEW_PAGE, "Set the actual server count", Servers_that_the_bot_is_really_in="42")
    told(operator, "The count is saved.")
    act(operator, NEW_PAGE, "Set limits", Vote_checks="7", Window_of_vote_checks="60")
    told(operator, "The limits are saved.")

    shown = gateway.done("GET", f"/manage/bots/{NEW_BOT}")
    assert (shown["state"], shown["actual_server_count"]) == ("approved", 42)
    assert shown["limits"] == {"stats": None, "voters": {"requests": 7, "window_seconds": 60}}


def test_a_question_that_is_left_changes_nothing(operator: Visitor, gateway: ThreadGateway) -> None:
    before = gateway.done("GET", "/debug/overview.json")["positions"]["head"]
    page = operator.see(f"{NEW_PAGE}/approve")
    page.get_by_role("link", name="Back").click()

    expect(page).to_have_url(f"{operator.home}{NEW_PAGE}")
    assert gateway.done("GET", "/debug/overview.json")["positions"]["head"] == before


def test_a_denial_says_why_and_a_wrong_number_is_refused_at_its_field(
    operator: Visitor, gateway: ThreadGateway
) -> None:
    act(operator, NEW_PAGE, "Deny", Reason="It is a copy.")
    told(operator, "It is denied.")
    assert gateway.done("GET", f"/manage/bots/{NEW_BOT}")["reason"] == "It is a copy."

    operator.expected.add(400)
    act(operator, BOT_PAGE, "Set limits", Vote_checks="many")
    expect(operator.page.locator("[aria-invalid=true]").first).to_be_visible()
    expect(operator.page.get_by_label("Vote checks", exact=True)).to_have_value("many")


def test_an_approval_is_withdrawn_with_a_reason(operator: Visitor, gateway: ThreadGateway) -> None:
    act(operator, BOT_PAGE, "Withdraw the approval", Reason="It is spam.")
    told(operator, "The approval is withdrawn.")
    shown = gateway.done("GET", f"/manage/bots/{BOT}")
    assert (shown["state"], shown["reason"]) == ("denied", "It is spam.")


def test_a_suspended_endpoint_is_probed_and_healed(
    operator: Visitor, gateway: ThreadGateway, receiver: Receiver
) -> None:
    receiver.default = status(500)
    act(operator, BOT_PAGE, "Probe the endpoint now")
    told(operator, "The probe failed")
    receiver.default = status(204)
    act(operator, BOT_PAGE, "Probe the endpoint now")
    told(operator, "The probe succeeded")

    assert gateway.done("GET", f"/manage/bots/{BOT}/webhook")["suspension"] is None


def test_a_suspension_is_lifted_and_a_delivery_sent_again(
    operator: Visitor, gateway: ThreadGateway, receiver: Receiver
) -> None:
    act(operator, BOT_PAGE, "Lift the suspension")
    told(operator, "The suspension is lifted.")
    eventually(lambda: gateway.done("GET", f"/manage/bots/{BOT}/webhook")["pending"] == 0)
    receiver.received.clear()
    act(operator, BOT_PAGE, "Send again", "Send the delivery again")
    told(operator, "Delivered: status 204")

    assert len(receiver.received) == 1


def test_the_data_is_saved_compared_and_downloaded(operator: Visitor, tmp_path: Path) -> None:
    act(operator, "/debug/data", "Take a snapshot")
    told(operator, "The snapshot at position")
    act(operator, "/debug/data", "Verify")
    told(operator, "Memory and disk agree")
    with operator.page.expect_download() as download:
        act(operator, "/debug/data", "Download a backup")

    download.value.save_as(tmp_path / "backup")
    assert (tmp_path / "backup").stat().st_size > 0


def test_the_overview_moves_by_itself(operator: Visitor, gateway: ThreadGateway) -> None:
    page = operator.see("/debug")
    waiting = page.locator(".tiles > *").filter(has_text="Webhooks waiting")
    expect(waiting).to_contain_text("1")
    page.evaluate("window.stays = true")
    gateway.cast(OTHER_USER)

    expect(waiting).to_contain_text("2", timeout=30_000)
    assert page.evaluate("window.stays") is True


# A chart is a picture: what it writes is noted as it is drawn.
NOTE_WRITTEN = """
window.written = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
  window.written.push(text);
  return write.call(this, text, ...rest);
};
"""


def test_the_axes_of_the_charts_have_units(operator: Visitor) -> None:
    operator.page.add_init_script(NOTE_WRITTEN)
    page = operator.see("/debug")

    def units() -> set[str]:
        written: list[str] = page.evaluate("window.written")
        return {text.partition(" ")[2] for text in written}

    eventually(lambda: {"MB", "UTC"} <= units())
    assert units() == {"/s", "ms", "MB", "UTC"}


def test_the_overview_moves_when_a_script_is_slow_to_come(operator: Visitor, gateway: ThreadGateway) -> None:
    def hold(route: Route) -> None:
        # An htmx that did not wait for site.js would start meanwhile, by its timer and without live updates.
        # One that waits shows nothing until then: there is no condition to wait for.
        time.sleep(2 * SECONDS)
        route.continue_()

    operator.page.route("**/site.js", hold)
    page = operator.see("/debug")
    waiting = page.locator(".tiles > *").filter(has_text="Webhooks waiting")
    gateway.cast(OTHER_USER)

    expect(waiting).to_contain_text("2", timeout=30_000)


def test_what_is_typed_into_the_search_finds_bots_while_it_is_typed(operator: Visitor) -> None:
    page = operator.see("/debug/find")
    page.evaluate("window.stays = true")
    page.get_by_label("Id, or a part of a name").press_sequentially("test b")
    expect(page.locator("#found")).to_contain_text("Test bot")
    page.wait_for_url("**/debug/find?q=test+b")
    assert page.evaluate("window.stays") is True


SWAP = """(text) => htmx.swap({
    text, swap: "innerHTML", target: document.getElementById("notices"), sourceElement: document.body,
}).then(() => "swapped", (error) => error.message)"""
NOT_OURS = (
    "<p><script>window.hit = 1</script></p>",
    '<p onclick="window.hit = 1">x</p>',
    "<img src=x onerror='window.hit = 1'>",
    '<p style="color: red">x</p>',
    '<iframe srcdoc="x"></iframe>',
    '<a title="</p><script>window.hit = 1</script>">x</a>',
    "<textarea></textarea>",
    "<svg><p>x</p></svg>",
    "</template><p>x</p><template>",
    "<!-- x --><p>x</p>",
    "<p>1 < 2</p>",
    '<base href="https://evil.example">',
    "<!doctype html><html><body><p>x</p></body></html>",
    "<body><p>x</p></body>",
)
"""Markup that no template of ours writes into a part of a page."""
BY_NO_POLICY = (
    "document.body.innerHTML = '<p>x</p>'",
    "document.body.insertAdjacentHTML('beforeend', '<p>x</p>')",
    "new DOMParser().parseFromString('<p>x</p>', 'text/html')",
    "document.createElement('script').textContent = 'window.hit = 1'",
    "document.createElement('script').src = '/static/x.js'",
    "document.createElement('iframe').srcdoc = '<p>x</p>'",
    "document.write('<p>x</p>')",
    "window.trustedTypes.createPolicy('votegate', { createHTML: (text) => text })",
    "window.trustedTypes.createPolicy('default', { createHTML: (text) => text })",
    "window.trustedTypes.createPolicy('other', {})",
)
"""Script that makes markup or script of a text, or a policy that would."""


def test_htmx_swaps_markup_as_our_templates_write_it_and_no_other(operator: Visitor) -> None:
    page = operator.see("/debug/find")
    ours = '<p class="notice" data-x>A <b>word</b> &lt;script&gt; on = x<br/></p>'
    assert page.evaluate(SWAP, ours) == "swapped"
    expect(page.locator("#notices p.notice")).to_have_text("A word <script> on = x")
    before = page.locator("#notices").inner_html()
    for text in NOT_OURS:
        assert "This is no markup of ours." in page.evaluate(SWAP, text), text
        assert page.locator("#notices").inner_html() == before, text
    assert page.evaluate("window.hit") is None


def test_no_other_text_becomes_markup_or_script(operator: Visitor) -> None:
    page = operator.see("/debug/find")
    for script in BY_NO_POLICY:
        said = page.evaluate(f"() => {{ try {{ {script} }} catch (error) {{ return error.name }} }}")
        assert said == "TypeError", script
    assert page.evaluate("window.hit") is None
    assert len(operator.problems) >= len(BY_NO_POLICY), "the browser says each time that it refused it"
    operator.problems.clear()


def test_a_bot_is_found_and_its_page_shows_no_secret(operator: Visitor, gateway: ThreadGateway) -> None:
    page = operator.see("/debug")
    page.get_by_role("searchbox").first.fill("test b")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Test bot").first.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Test bot")
    shown = page.content()
    assert USER in shown
    assert "token-of-the-owner" not in shown
    assert gateway.operator_token not in shown


def test_what_a_bot_and_its_receiver_write_is_never_run(
    operator: Visitor, gateway: ThreadGateway, receiver: Receiver
) -> None:
    attack = "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'>"
    edit = {
        **{"owner_id": OWNER, "name": attack[:32], "description": attack + "x" * 40},
        **{"short_description": "A bot that attacks " + attack[:40], "categories": ["Utility"]},
    }
    gateway.done("PUT", f"/manage/bots/{NEW_BOT}", edit)
    receiver.default = status(200, attack.encode())
    gateway.done("POST", f"/manage/bots/{BOT}/webhook/test", {"user": OTHER_USER})

    for path in (NEW_PAGE, "/debug/find?q=script", "/debug/journal", BOT_PAGE):
        page = operator.see(path)
        assert page.evaluate("window.hit") is None
