"""The pages of listings and users, and the search that leads to them."""

import re

import pytest
from markupsafe import escape

from core.events import KeySaved
from core.rows import Key
from forms.fields import LAST_MS
from tests.support.contract import set_webhook
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OTHER_BOT,
    OTHER_USER,
    OWNER,
    SERVER,
    SERVER_SUBMISSION,
    USER,
    ThreadGateway,
    eventually,
)
from tests.support.page_visitor import PageVisitor, words
from tests.support.people import signed_in
from tests.support.webhook_receiver import Receiver


def test_a_listing_is_found_by_its_id_and_by_a_part_of_its_name(
    gateway: ThreadGateway, visitor: PageVisitor
) -> None:
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "name": "Straße <b>& Co</b>"})
    gateway.list_server()
    for text in (BOT, "stra%C3%9Fe", "STRA", "%3Cb"):
        page = visitor.page(f"/debug/find?q={text}")
        assert f'href="/debug/listings/bots/{BOT}">Straße &lt;b&gt;&amp; Co&lt;/b&gt;</a>' in page, text
    assert f"/debug/listings/servers/{SERVER}" in visitor.page("/debug/find?q=SERVER")


def test_a_user_is_found_by_the_id(visitor: PageVisitor) -> None:
    assert f"/debug/users/{USER}" in visitor.page(f"/debug/find?q={USER}")


def test_an_empty_search_says_what_to_do(visitor: PageVisitor) -> None:
    assert "Type an id or a name." in visitor.page("/debug/find")
    assert "0 found." in visitor.page("/debug/find?q=nothing")


def test_a_search_that_is_too_long_is_refused_with_a_page(visitor: PageVisitor) -> None:
    assert visitor.get(f"/debug/find?q={'x' * 200}").status_code == 400


def test_htmx_gets_the_results_alone(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    gateway.list_bot()
    headers = {"HX-Request": "true", "HX-Request-Type": "partial", "HX-Target": "div#found"}
    part = visitor.request("GET", "/debug/find?q=test", headers).text
    assert "1 found." in part
    assert "<h1>" not in part


def test_a_bot_is_shown_whole_and_no_secret_with_it(
    gateway: ThreadGateway, visitor: PageVisitor, receiver: Receiver
) -> None:
    key = gateway.list_bot()
    set_webhook(gateway, receiver.url, token="a-secret-token")
    gateway.cast()
    eventually(lambda: receiver.received)
    page = visitor.page(f"/debug/listings/bots/{BOT}")
    shown = words(page)
    fingerprint = gateway.done("GET", f"/manage/bots/{BOT}/keys")["keys"][0]["fingerprint"]
    for part in (
        "Test bot",
        "approved",
        BOT,
        OWNER,
        USER,
        "100 in 5 min",
        "tests",
        fingerprint,
        "with a token",
    ):
        assert part in shown, part
    for secret in (key, "a-secret-token", "whsec_"):
        assert secret not in page


def test_the_description_of_a_bot_is_shown_formatted_and_as_it_is_written(
    gateway: ThreadGateway, visitor: PageVisitor
) -> None:
    written = (
        "# Plays *music*\n\nHi <script>alert(1)</script> [a](javascript:alert(1)) [b](https://c.example)"
    )
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "description": written})
    page = visitor.page(f"/debug/listings/bots/{BOT}")
    assert "<h2>Plays <em>music</em></h2>" in page
    assert '<p>Hi alert(1) a <a href="https://c.example" rel="nofollow ugc noopener">b</a></p>' in page
    assert f">{escape(written)}</pre>" in page
    assert re.search(r"<div class=\"prose\"[^>]* hx-ignore>", page)


def test_the_description_of_a_server_is_text(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "description": "*not* <b>Markdown</b>"})
    page = visitor.page(f"/debug/listings/servers/{SERVER}")
    assert "<dd>*not* &lt;b&gt;Markdown&lt;/b&gt;</dd>" in page
    assert 'class="prose"' not in page


def test_a_listing_is_shown_whose_fields_no_form_of_today_would_take(
    gateway: ThreadGateway, visitor: PageVisitor
) -> None:
    gateway.list_bot()
    older = Key("0" * 24, "from elsewhere", "0" * 64, "not hexadecimal", created_ms=1)
    gateway.on_loop(lambda: gateway.gateway.ledger.commit([KeySaved(f"bots/{BOT}", older)]))
    assert "not hexadecimal" in words(visitor.page(f"/debug/listings/bots/{BOT}"))


def test_a_server_is_shown_without_what_only_bots_have(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    gateway.list_server()
    shown = words(visitor.page(f"/debug/listings/servers/{SERVER}"))
    assert "Test server" in shown
    assert "API keys" not in shown
    assert "No webhook is set." in shown


@pytest.mark.parametrize("path", [f"bots/{BOT}", f"servers/{SERVER}", f"emojis/{BOT}", "bots/x", "bots/%20"])
def test_a_listing_that_does_not_exist_is_a_page_with_404(visitor: PageVisitor, path: str) -> None:
    answer = visitor.get(f"/debug/listings/{path}")
    assert (answer.status_code, "There is nothing here" in answer.text) == (404, True)


def test_a_user_is_shown_with_listings_and_votes(gateway: ThreadGateway, visitor: PageVisitor) -> None:
    gateway.list_bot()
    gateway.list_bot(OTHER_BOT)
    gateway.cast()
    owner = words(visitor.page(f"/debug/users/{OWNER}"))
    assert "Listings of the user: 2" in owner
    assert "The user has never voted here." in owner
    voter = words(visitor.page(f"/debug/users/{USER}"))
    assert "Votes of the user: for 1 listings" in voter
    assert "The user owns no listing here." in voter
    assert "never voted" in words(visitor.page(f"/debug/users/{OTHER_USER}"))


def test_a_user_is_shown_with_role_sessions_and_quarantines(
    gateway: ThreadGateway, visitor: PageVisitor
) -> None:
    digest = "1" * 64
    gateway.on_loop(lambda: gateway.gateway.ledger.commit([signed_in(USER, digest)]))
    gateway.done("PUT", f"/manage/users/{USER}/moderator")
    terms = {"reason": "Bought <b>votes</b>.", "until": LAST_MS}
    gateway.done("PUT", f"/manage/users/{USER}/quarantines/vote", terms)
    gateway.done("PUT", f"/manage/users/{USER}/quarantines/submit", {"reason": "Spam."})
    page = visitor.page(f"/debug/users/{USER}")
    for part in (
        "Ada ada",
        "yes, appointed",
        "the operator",
        "Bought &lt;b&gt;votes&lt;/b&gt;.",
        "9999-12-31",
        "is lifted",
    ):
        assert part in words(page), part
    assert digest[:16] not in page
    unknown = words(visitor.page(f"/debug/users/{OTHER_USER}"))
    assert "the user has never signed in" in unknown
    assert "Nothing is forbidden to the user." in unknown


def test_an_id_that_is_none_is_a_page_with_400(visitor: PageVisitor) -> None:
    assert visitor.get("/debug/users/me").status_code == 400
