"""pages/review/queue.py: filters of a list, and the way from one listing to the next."""

from typing import Any

import pytest

from tests.support.co_owners import let_join
from tests.support.gateways import BOT_SUBMISSION, SERVER_SUBMISSION
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN

DAY_SECONDS = 86_400
BOTS = [str(400000000000000000 + number) for number in range(1, 5)]
SERVER = "450000000000000001"


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return {"web.moderators": f"{CLEO},{DAN}"}


@pytest.fixture
def cleo(gateway: PeopleGateway) -> Person:
    """Four bots wait, each a day longer than the next one, and then a server."""
    for bot in BOTS:
        gateway.operate("DELETE", f"/manage/bots/{bot}")
    gateway.operate("DELETE", f"/manage/servers/{SERVER}")
    for bot in BOTS:
        form = {**BOT_SUBMISSION, "id": bot, "owner_id": ADA, "name": f"Bot {bot[-1]}"}
        gateway.done("POST", "/manage/bots", form)
        gateway.clock.advance(DAY_SECONDS)
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "id": SERVER, "owner_id": ADA})
    gateway.clock.advance(1)
    return gateway.person(CLEO)


def listed(page: str) -> list[str]:
    """The ids in the list of a page, in its order."""
    items = page.partition('class="waiting"')[2].partition("</ol>")[0]
    refs = [each.partition('"')[0].partition("?")[0] for each in items.split('href="/review/')[1:]]
    return [ref.partition("/")[2] for ref in refs]


def seen(gateway: PeopleGateway, ref: str) -> dict[str, str]:
    return {"seen": str(gateway.done("GET", f"/manage/{ref}")["updated_at"]), "confirmed": "yes"}


def decided(gateway: PeopleGateway, person: Person, ref: str, query: str = "", **fields: str) -> str:
    """Decide about a listing, and return where that leads."""
    verb = "deny" if fields else "approve"
    answer = person.post(f"/review/{ref}/{verb}{query}", {**seen(gateway, ref), **fields})
    assert answer.status_code == 303, words(answer.text)
    return str(answer.headers["Location"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [*BOTS, SERVER]),
        ("?kind=servers", [SERVER]),
        ("?kind=bots&age=3", BOTS[:2]),
        ("?age=7", []),
        ("?kind=cats&age=never", [*BOTS, SERVER]),
    ],
)
def test_a_list_is_filtered_by_kind_and_age(cleo: Person, query: str, expected: list[str]) -> None:
    assert listed(cleo.page(f"/review{query}")) == expected
    queue = cleo.get(f"/review.json{query}").json()["queue"]
    assert [each["id"] for each in queue] == expected


def test_a_filter_stays_on_the_pages_of_a_list(cleo: Person) -> None:
    first = cleo.page("/review?kind=bots&limit=3")
    assert listed(first) == BOTS[:3]
    (following,) = {each.partition('"')[0] for each in first.split('href="/review?kind=bots&amp;after=')[1:]}
    assert listed(cleo.page(f"/review?kind=bots&after={following}")) == BOTS[3:]


def test_the_listing_under_review_stands_in_its_list(cleo: Person) -> None:
    page = cleo.page(f"/review/bots/{BOTS[1]}?kind=bots")
    assert listed(page) == BOTS
    assert f'href="/review/bots/{BOTS[1]}?kind=bots" aria-current="true"' in page
    assert f'href="/review/bots/{BOTS[2]}?kind=bots" data-key="j"' in page
    assert f'href="/review/bots/{BOTS[0]}?kind=bots" data-key="k"' in page


def test_a_decision_leads_to_the_next_one_of_the_list(gateway: PeopleGateway, cleo: Person) -> None:
    assert decided(gateway, cleo, f"bots/{BOTS[1]}") == f"/review/bots/{BOTS[2]}"
    assert decided(gateway, cleo, f"bots/{BOTS[2]}", reason="silent") == f"/review/bots/{BOTS[3]}"
    assert decided(gateway, cleo, f"bots/{BOTS[3]}", "?kind=bots") == f"/review/bots/{BOTS[0]}?kind=bots"
    assert decided(gateway, cleo, f"bots/{BOTS[0]}", "?kind=bots") == "/review?kind=bots"
    assert decided(gateway, cleo, f"servers/{SERVER}") == "/review"


def test_a_claim_of_another_moderator_is_passed_over(gateway: PeopleGateway, cleo: Person) -> None:
    gateway.person(DAN).acted(f"/review/bots/{BOTS[1]}/claim")
    assert decided(gateway, cleo, f"bots/{BOTS[0]}") == f"/review/bots/{BOTS[2]}"
    dan = gateway.person(DAN)
    assert decided(gateway, dan, f"servers/{SERVER}") == f"/review/bots/{BOTS[1]}"


def report(gateway: PeopleGateway, ref: str, user: str, reason: str, text: str = "") -> None:
    body = {"user": user, "reason": reason, "text": text}
    gateway.done("POST", f"/manage/{ref}/reports", body)


def reported(cleo: Person) -> list[Any]:
    found: list[Any] = cleo.get("/review.json?show=reported").json()["listings"]
    return found


@pytest.fixture
def moderator(gateway: PeopleGateway, cleo: Person) -> Person:
    """Two bots are public and reported, the second by two users."""
    for bot in BOTS[:2]:
        gateway.done("POST", f"/manage/bots/{bot}/approve", {})
    report(gateway, f"bots/{BOTS[1]}", BEN, "does_not_work", "It is <b>silent</b>.")
    gateway.clock.advance(60)
    report(gateway, f"bots/{BOTS[0]}", BEN, "breaks_rules")
    gateway.clock.advance(60)
    report(gateway, f"bots/{BOTS[1]}", DAN, "does_not_work")
    return cleo


def test_reported_listings_are_in_a_list_the_newest_report_first(moderator: Person) -> None:
    assert [(each["id"], each["reports"], each["reasons"]) for each in reported(moderator)] == [
        (BOTS[1], 2, ["does_not_work"]),
        (BOTS[0], 1, ["breaks_rules"]),
    ]
    page = moderator.page("/review?show=reported")
    assert listed(page) == [BOTS[1], BOTS[0]]
    assert "Reported 2" in words(page)
    assert "Bot 2 Bot, not verified, 2 reports" in words(page)


def test_a_moderator_reads_who_reported_what_and_why(gateway: PeopleGateway, moderator: Person) -> None:
    gateway.person(BEN)
    page = moderator.page(f"/review/bots/{BOTS[1]}?show=reported")
    assert "It is &lt;b&gt;silent&lt;/b&gt;." in page
    said = words(page)
    assert "It does not work It is" in said
    assert "Ben, who votes" in said
    assert "2 reports" in said


def test_reports_are_settled_and_the_next_one_follows(gateway: PeopleGateway, moderator: Person) -> None:
    here = f"/review/bots/{BOTS[1]}"
    seen = {"reports": " ".join(each["id"] for each in moderator.get(f"{here}.json").json()["reports"])}
    answer = moderator.post(f"{here}/settle?show=reported", seen)
    assert answer.headers["Location"] == f"/review/bots/{BOTS[0]}?show=reported"
    assert [each["id"] for each in reported(moderator)] == [BOTS[0]]
    assert gateway.done("GET", f"/manage/bots/{BOTS[1]}")["state"] == "approved"
    again = moderator.post(f"{here}/settle", seen)
    assert (again.status_code, "has no open report" in again.text) == (409, True)


def test_a_report_that_came_meanwhile_stays_open(gateway: PeopleGateway, moderator: Person) -> None:
    here = f"/review/bots/{BOTS[0]}"
    shown = moderator.page(here).partition('name="reports" value="')[2].partition('"')[0]
    gateway.clock.advance(1)
    report(gateway, f"bots/{BOTS[0]}", DAN, "other", "It asks for passwords.")
    moderator.acted(f"{here}/settle", {"reports": shown})
    (left,) = moderator.get(f"{here}.json").json()["reports"]
    assert (left["by"], left["text"]) == (f"users/{DAN}", "It asks for passwords.")


def test_a_moderator_sees_no_report_of_an_own_listing(gateway: PeopleGateway, moderator: Person) -> None:
    own = f"bots/{BOTS[1]}"
    form = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}
    gateway.done(
        "PUT",
        f"/manage/{own}",
        {
            **form,
            "owner_id": ADA,
            "name": "Bot 2",
            "description": "It has another description, which a moderator has to look at.",
        },
    )
    let_join(gateway, BOTS[1], CLEO)
    page = moderator.page("/review?show=reported")
    assert listed(page) == [BOTS[0]]
    assert "Reported 1" in words(page)
    assert [each["id"] for each in reported(moderator)] == [BOTS[0]]
    assert "2 reports" not in words(moderator.page("/review"))
    assert "2 reports" not in words(moderator.page(f"/review/{own}?show=reported"))
    assert moderator.get(f"/review/{own}.json").json()["reports"] == []
    dan = gateway.person(DAN)
    assert listed(dan.page("/review?show=reported")) == [BOTS[1], BOTS[0]]
    assert "2 reports" in words(dan.page("/review"))


def test_who_acts_on_a_report_withdraws_the_approval(gateway: PeopleGateway, moderator: Person) -> None:
    here = f"/review/bots/{BOTS[1]}"
    answer = moderator.post(f"{here}/withdraw?show=reported", {"withdraw_reason": "silent"})
    assert answer.headers["Location"] == f"/review/bots/{BOTS[0]}?show=reported"
    assert gateway.done("GET", f"/manage/bots/{BOTS[1]}")["state"] == "denied"
    assert [each["id"] for each in reported(moderator)] == [BOTS[0]]
