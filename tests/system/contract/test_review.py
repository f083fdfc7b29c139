"""The states of a listing and their changes; lists of listings; removal."""

from typing import Any

import pytest

from tests.support.contract import BOT_PATH, Served, refusal, wrong_fields
from tests.support.gateways import BOT_SUBMISSION, SERVER_SUBMISSION, ThreadGateway

SUBMISSIONS = {"bots": BOT_SUBMISSION, "servers": SERVER_SUBMISSION}
IN_REVIEW, APPROVED, DENIED = "in_review", "approved", "denied"
TO_REACH = {IN_REVIEW: [], APPROVED: ["approve"], DENIED: ["deny"]}
UNKNOWN = "9" * 18
NO_LISTING = (404, "There is no such listing.")


class Listing:
    """A listing of a kind, submitted."""

    def __init__(self, gateway: ThreadGateway, kind: str) -> None:
        self.gateway = gateway
        self.kind = kind
        submission = SUBMISSIONS[kind]
        self.id = submission["id"]
        self.path = f"/manage/{kind}/{self.id}"
        self.edit = {name: value for name, value in submission.items() if name != "id"}
        gateway.done("POST", f"/manage/{kind}", submission)

    def reach(self, state: str) -> None:
        for step in TO_REACH[state]:
            self.review(step)

    def review(self, step: str) -> Any:
        """The listing as the answer has it, without the hint that a bot has no actual count."""
        body = {"reason": "Offline"} if step == "deny" else {}
        answer = self.gateway.done("POST", f"{self.path}/{step}", body)
        return {name: value for name, value in answer.items() if name != "hint"}

    def shown(self) -> Any:
        return self.gateway.kept(self.path)


@pytest.fixture(params=SUBMISSIONS)
def listing(gateway: ThreadGateway, request: pytest.FixtureRequest) -> Listing:
    """Bots and servers alike."""
    return Listing(gateway, request.param)


def submit_many(gateway: ThreadGateway, kind: str, count: int) -> list[str]:
    """The ids of so many listings, in their order."""
    ids = [str(10**17 + number) for number in range(count)]
    for listing_id in reversed(ids):
        gateway.done("POST", f"/manage/{kind}", {**SUBMISSIONS[kind], "id": listing_id})
    return ids


def test_a_submitted_listing_is_in_review(listing: Listing) -> None:
    shown = listing.shown()

    assert (shown["state"], shown["reason"], shown["reviewed_at"]) == (IN_REVIEW, None, None)


def test_a_moderator_approves_a_listing_in_review(gateway: ThreadGateway, listing: Listing) -> None:
    gateway.advance(60)

    approved = listing.review("approve")

    assert (approved["state"], approved["reviewed_at"]) == (APPROVED, gateway.clock.now_ms())
    assert listing.shown() == approved


def test_a_moderator_denies_a_listing_in_review_with_a_reason(
    gateway: ThreadGateway, listing: Listing
) -> None:
    gateway.advance(60)

    denied = listing.review("deny")

    assert (denied["state"], denied["reason"]) == (DENIED, "Offline")
    assert denied["reviewed_at"] == gateway.clock.now_ms()
    assert listing.shown() == denied


def test_a_denied_listing_is_submitted_again(gateway: ThreadGateway, listing: Listing) -> None:
    listing.reach(DENIED)

    again = gateway.done("PUT", listing.path, {**listing.edit, "name": "Better"})

    assert (again["state"], again["reason"], again["reviewed_at"]) == (IN_REVIEW, None, None)
    assert again["name"] == "Better"
    assert listing.review("approve")["state"] == APPROVED


@pytest.mark.parametrize("state", [IN_REVIEW, APPROVED])
def test_an_edit_changes_no_other_state(gateway: ThreadGateway, listing: Listing, state: str) -> None:
    listing.reach(state)
    created_ms = listing.shown()["created_at"]
    gateway.advance(60)

    edited = gateway.done("PUT", listing.path, {**listing.edit, "name": "Better"})

    assert (edited["state"], edited["name"]) == (state, "Better")
    assert (edited["created_at"], edited["updated_at"]) == (created_ms, created_ms + 60_000)
    assert listing.shown() == edited


def test_an_edit_keeps_what_is_not_part_of_the_form(gateway: ThreadGateway) -> None:
    key = gateway.list_bot(actual=1_000)
    gateway.stats(key, {"server_count": 990, "command_count": 5})
    edit = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}

    edited = gateway.done("PUT", BOT_PATH, edit)

    assert [edited[name] for name in ("server_count", "command_count", "actual_server_count")] == [
        990,
        5,
        1_000,
    ]
    assert gateway.voters(key).status_code == 200


def test_an_edit_is_checked_like_a_submission(gateway: ThreadGateway, listing: Listing) -> None:
    before = listing.shown()

    assert wrong_fields(gateway.operate("PUT", listing.path, {})) == set(listing.edit)
    assert wrong_fields(gateway.operate("PUT", listing.path, {**listing.edit, "id": listing.id})) == {"id"}
    assert listing.shown() == before


@pytest.mark.parametrize("state", [APPROVED, DENIED])
@pytest.mark.parametrize("step", ["approve", "deny"])
def test_only_a_listing_in_review_is_reviewed(
    gateway: ThreadGateway, listing: Listing, state: str, step: str
) -> None:
    listing.reach(state)
    body = {"reason": "Late"} if step == "deny" else {}

    response = gateway.operate("POST", f"{listing.path}/{step}", body)

    instead = " Withdraw its approval instead." if (step, state) == ("deny", APPROVED) else ""
    assert refusal(response) == (409, f"The listing is {state}, not in review.{instead}")
    assert listing.shown()["state"] == state


@pytest.mark.parametrize(
    "body", [{}, {"reason": ""}, {"reason": " "}, {"reason": "x" * 1_001}, {"reason": 5}]
)
def test_a_denial_needs_a_reason(gateway: ThreadGateway, listing: Listing, body: dict[str, Any]) -> None:
    assert wrong_fields(gateway.operate("POST", f"{listing.path}/deny", body)) == {"reason"}
    assert listing.shown()["state"] == IN_REVIEW


@pytest.mark.parametrize("state", TO_REACH)
def test_a_state_survives_a_restart(gateway: ThreadGateway, listing: Listing, state: str) -> None:
    listing.reach(state)
    before = listing.shown()

    gateway.restart()

    assert listing.shown() == before


def test_a_removed_listing_is_gone_and_may_be_submitted_afresh(
    gateway: ThreadGateway, listing: Listing
) -> None:
    listing.reach(APPROVED)

    assert gateway.done("DELETE", listing.path) == {"success": True}

    assert refusal(gateway.operate("GET", listing.path)) == NO_LISTING
    assert gateway.done("GET", f"/manage/{listing.kind}")[listing.kind] == []
    assert Listing(gateway, listing.kind).shown()["state"] == IN_REVIEW


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("PUT", ""),
        ("DELETE", ""),
        ("POST", "/approve"),
        ("POST", "/deny"),
        ("POST", "/withdraw"),
        ("POST", "/change/agree"),
        ("POST", "/change/refuse"),
        ("PUT", "/webhook"),
        ("GET", "/webhook"),
        ("DELETE", "/webhook"),
        ("POST", "/webhook/test"),
        ("GET", "/webhook/deliveries"),
        ("POST", "/webhook/deliveries/none/redeliver"),
    ],
)
@pytest.mark.parametrize("kind", SUBMISSIONS)
def test_a_listing_that_does_not_exist_is_404(served: Served, kind: str, method: str, path: str) -> None:
    response = served.operate(method, f"/manage/{kind}/{UNKNOWN}{path}", {})

    assert refusal(response) == NO_LISTING


@pytest.mark.parametrize("path", ["actual-server-count", "limits"])
def test_counts_and_limits_of_an_unknown_bot_are_404(served: Served, path: str) -> None:
    assert refusal(served.operate("PUT", f"/manage/bots/{UNKNOWN}/{path}", {})) == NO_LISTING


@pytest.mark.parametrize("kind", SUBMISSIONS)
def test_listings_come_in_pages_that_miss_none(gateway: ThreadGateway, kind: str) -> None:
    ids = submit_many(gateway, kind, 5)
    pages, query = [], "limit=2"

    for _ in range(3):
        page = gateway.done("GET", f"/manage/{kind}?{query}")
        pages.append([listing["id"] for listing in page[kind]])
        query = f"limit=2&after={page['next']}"

    assert pages == [ids[:2], ids[2:4], ids[4:]]
    assert (page["success"], page["next"]) == (True, None)


def test_a_full_last_page_has_no_next(gateway: ThreadGateway) -> None:
    submit_many(gateway, "bots", 4)

    assert gateway.done("GET", "/manage/bots?limit=4")["next"] is None


def test_a_page_has_50_listings_unless_told_otherwise(gateway: ThreadGateway) -> None:
    ids = submit_many(gateway, "bots", 51)

    page = gateway.done("GET", "/manage/bots")

    assert ([listing["id"] for listing in page["bots"]], page["next"]) == (ids[:50], ids[49])
    assert len(gateway.done("GET", "/manage/bots?limit=500")["bots"]) == 51


def test_bots_and_servers_are_listed_apart(gateway: ThreadGateway) -> None:
    submit_many(gateway, "bots", 1)

    assert gateway.done("GET", "/manage/servers") == {"success": True, "servers": [], "next": None}


def test_listings_are_found_by_their_state(gateway: ThreadGateway) -> None:
    ids = submit_many(gateway, "bots", 4)
    for listing_id, step in zip(ids, ["approve", "deny", "approve"], strict=False):
        gateway.done("POST", f"/manage/bots/{listing_id}/{step}", {"reason": "x"} if step == "deny" else {})

    def found(state: str) -> list[str]:
        return [row["id"] for row in gateway.done("GET", f"/manage/bots?state={state}")["bots"]]

    assert [found(state) for state in TO_REACH] == [[ids[3]], [ids[0], ids[2]], [ids[1]]]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=-1", "limit"),
        ("limit=", "limit"),
        ("limit=１", "limit"),
        ("limit=many", "limit"),
        ("after=1", "after"),
        ("after=", "after"),
        ("state=new", "state"),
        ("state=", "state"),
        ("limit=%FF", "limit"),
    ],
)
def test_a_malformed_query_is_400(served: Served, query: str, field: str) -> None:
    assert wrong_fields(served.operate("GET", f"/manage/bots?{query}")) == {field}
