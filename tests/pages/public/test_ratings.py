"""pages/public/ratings.py: users review a listing, owners answer, and moderators remove."""

import json
import re
from pathlib import Path

import pytest

from tests.support.gateways import BOT, BOT_SUBMISSION
from tests.support.listed_servers import listed as listed_server
from tests.support.listed_servers import serving_servers
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person, serving
from tests.support.platform_stand_in import ADA, BEN, CLEO, GOOD_SERVER

HERE = f"/bots/{BOT}"
REVIEWS = f"{HERE}/reviews"
WORDS = "It counts well, and its owner helps."
HOOK = {"url": "https://hooks.example/votes", "events": ["vote", "rating.posted"]}
FORM = {"stars": "4", "text": WORDS}


@pytest.fixture(autouse=True)
def listed(gateway: PeopleGateway) -> None:
    """List a bot of Ada that Ben has voted for."""
    gateway.operate("DELETE", f"/manage{HERE}")
    gateway.clock.advance(3_600)
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA, "name": "Jukebox"})
    gateway.done("POST", f"/manage{HERE}/approve", {})
    gateway.done("POST", f"/manage{HERE}/votes", {"user": BEN})


@pytest.fixture
def ben(gateway: PeopleGateway) -> Person:
    return gateway.person(BEN)


def moderator(gateway: PeopleGateway) -> Person:
    gateway.done("PUT", f"/manage/users/{CLEO}/moderator")
    return gateway.person(CLEO)


def shown(gateway: PeopleGateway) -> list[tuple[int, str]]:
    found = gateway.request("GET", f"{REVIEWS}.json").json()
    return [(each["stars"], each["text"]) for each in found["ratings"]]


def test_a_voter_writes_a_review_and_edits_and_deletes_it(gateway: PeopleGateway, ben: Person) -> None:
    page = ben.page(REVIEWS)
    assert "Post the review" in page
    assert ben.post(REVIEWS, FORM).status_code == 303
    assert "Your review is there: everybody can read it." in words(ben.page(REVIEWS))
    assert shown(gateway) == [(4, WORDS)]
    ben.post(REVIEWS, {"stars": "5", "text": f"  {WORDS}\r\nStill.  "})
    assert shown(gateway) == [(5, f"{WORDS}\nStill.")]
    ben.post(REVIEWS, {"act": "take-back"})
    assert shown(gateway) == []


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"text": WORDS}, "Choose 1 to 5 stars."),
        ({"stars": "6", "text": WORDS}, "Choose 1 to 5 stars."),
        ({"stars": "4", "text": "Too short"}, "20"),
        ({"stars": "4", "text": "x" * 1_001}, "1,000"),
    ],
)
def test_a_wrong_review_is_shown_again_with_the_reason(
    gateway: PeopleGateway, ben: Person, form: dict[str, str], said: str
) -> None:
    answer = ben.post(REVIEWS, form)
    assert (answer.status_code, said in words(answer.text)) == (400, True)
    assert form["text"] in answer.text
    assert shown(gateway) == []


def test_others_read_why_they_cannot_review(gateway: PeopleGateway) -> None:
    assert "Sign in to review Jukebox." in words(gateway.request("GET", REVIEWS).text)
    told = {CLEO: "Only users who have voted for the listing review it.", ADA: "Owners do not review"}
    for user, said in told.items():
        person = gateway.person(user)
        page = person.page(REVIEWS)
        assert (said in words(page), "Post the review" in page) == (True, False)
        assert person.post(REVIEWS, FORM).status_code == 403
    assert gateway.request("POST", REVIEWS, data=FORM).status_code in {401, 403}
    assert shown(gateway) == []


def test_the_owner_answers_and_nobody_else(gateway: PeopleGateway, ben: Person) -> None:
    ben.post(REVIEWS, FORM)
    answer, ada = f"{REVIEWS}/{BEN}/answer", gateway.person(ADA)
    assert answer in ada.page(REVIEWS)
    assert answer not in ben.page(REVIEWS)
    assert ben.get(answer).status_code == 404
    assert ben.post(answer, {"text": "Me!"}).status_code == 404
    assert ada.post(answer, {"text": ""}).status_code == 400
    assert ada.post(answer, {"text": "Thank you!"}).status_code == 303
    assert "Thank you!" in words(ben.page(REVIEWS))
    assert "Thank you!" in ada.page(answer)
    ada.post(answer, {"act": "take-back"})
    assert "Thank you!" not in ben.page(REVIEWS)


def test_a_moderator_removes_a_review_and_the_author_gets_a_notice(
    gateway: PeopleGateway, ben: Person
) -> None:
    ben.post(REVIEWS, FORM)
    removal, cleo = f"{REVIEWS}/{BEN}/remove", moderator(gateway)
    assert removal in cleo.page(REVIEWS)
    for other in (ben, gateway.person(ADA)):
        assert other.post(removal, {"reason": "Mine."}).status_code in {403, 404}
    assert cleo.post(removal, {"reason": ""}).status_code == 400
    assert cleo.post(removal, {"reason": "It insults."}).status_code == 303
    assert shown(gateway) == []
    assert "Your review of Jukebox was removed: It insults." in words(ben.page("/me/notices"))
    assert "A review of Jukebox was removed: It insults." in words(gateway.person(ADA).page("/me/notices"))
    assert "The user cannot write another one." in words(ben.page(REVIEWS))


def test_a_review_is_reported_to_the_moderators(gateway: PeopleGateway, ben: Person) -> None:
    ben.post(REVIEWS, FORM)
    report, cleo = f"{REVIEWS}/{BEN}/report", moderator(gateway)
    assert report in cleo.page(REVIEWS)
    assert report not in ben.page(REVIEWS), "nobody reports an own review"
    assert cleo.post(report, {"reason": "broken_invite"}).status_code == 400
    assert cleo.post(report, {"reason": "breaks_rules", "text": "It insults."}).status_code == 303
    (found,) = gateway.done("GET", f"/manage{HERE}/reports")["reports"]
    assert (found["rating"], found["text"]) == (BEN, "It insults.")
    assert f"{REVIEWS}/{BEN}/remove" in cleo.page(f"/review{HERE}")


def test_the_owner_gets_one_notice_of_new_reviews(gateway: PeopleGateway, ben: Person) -> None:
    ada = gateway.person(ADA)
    ben.post(REVIEWS, FORM)
    assert "Jukebox has 1 new review." in words(ada.page("/me/notices"))
    assert f'href="{REVIEWS}"' in ada.page("/me/notices")


def test_the_mean_is_on_the_page_on_cards_and_in_the_data_for_search_engines(
    gateway: PeopleGateway, ben: Person
) -> None:
    ben.post(REVIEWS, {**FORM, "stars": "5"})
    page = gateway.request("GET", HERE).text
    (thing, *_) = (json.loads(each) for each in re.findall(r'ld\+json">(.*?)</script>', page, re.DOTALL))
    assert thing["aggregateRating"] == {
        "@type": "AggregateRating",
        "ratingValue": 3.75,
        "ratingCount": 1,
        "bestRating": 5,
        "worstRating": 1,
    }
    assert WORDS in words(page)
    assert gateway.request("GET", f"{HERE}.json").json()["rating_count"] == 1
    (card,) = gateway.request("GET", "/bots.json").json()["listings"]
    assert card["rating"] == 3.75


def test_a_review_has_no_markup(gateway: PeopleGateway, ben: Person) -> None:
    ben.post(REVIEWS, {"stars": "1", "text": "<script>alert(1)</script> **bold** words"})
    page = gateway.request("GET", REVIEWS).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; **bold** words" in page


def test_a_person_downloads_their_reviews(ben: Person) -> None:
    ben.post(REVIEWS, FORM)
    (found,) = ben.get("/me/data.json").json()["reviews"]
    assert (found["listing"], found["stars"], found["text"]) == (f"bots/{BOT}", 4, WORDS)


def test_a_young_account_waits_as_it_does_to_vote(tmp_path: Path) -> None:
    with serving(tmp_path, **{"votes.min_account_days": 3_650}) as gateway:
        gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
        gateway.done("POST", f"/manage{HERE}/approve", {})
        gateway.done("POST", f"/manage{HERE}/votes", {"user": BEN})
        answer = gateway.person(BEN).post(REVIEWS, FORM)
        assert (answer.status_code, "too young" in answer.text) == (403, True)


def test_without_reviews_no_page_call_or_text_of_them_exists(tmp_path: Path) -> None:
    with serving(tmp_path) as gateway:
        gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
        gateway.done("POST", f"/manage{HERE}/approve", {})
        gateway.done("POST", f"/manage{HERE}/votes", {"user": BEN})
        gateway.person(BEN).post(REVIEWS, FORM)
        gateway.done("PUT", f"/manage{HERE}/webhook", HOOK)
    with serving(tmp_path, **{"ratings.enabled": "false"}) as gateway:
        ada = gateway.person(ADA)
        for path in (REVIEWS, f"{REVIEWS}.json", f"{REVIEWS}/{BEN}/report"):
            assert ada.get(path).status_code == 404
        assert gateway.operate("GET", f"/manage{HERE}/ratings").status_code == 404
        described = gateway.request("GET", "/openapi.json").text
        assert "/ratings" not in described
        assert "RatingList" not in described
        assert "rating.posted" not in described
        refused = gateway.operate("PUT", f"/manage{HERE}/webhook", HOOK)
        assert (refused.status_code, [*refused.json()["fields"]]) == (400, ["events.1"])
        assert gateway.done("GET", f"/manage{HERE}/webhook")["events"] == ["vote"]
        for path in (HERE, "/bots", "/me/notices", f"{HERE}.json", f"{HERE}/manage/webhook"):
            page = ada.get(path).text
            assert not re.search("reviews|rating_count|aggregateRating|Reviews by users", page), path
    with serving(tmp_path) as gateway:
        assert [text for _, text in shown(gateway)] == [WORDS], "it was kept"


def test_a_member_of_a_server_reviews_it_without_a_vote(tmp_path: Path) -> None:
    with serving_servers(tmp_path) as gateway:
        here = f"/servers/{GOOD_SERVER}"
        listed_server(gateway, decision="approve")
        gateway.stand_in.change_server(GOOD_SERVER, members=[BEN])
        ben, cleo = gateway.person(BEN), gateway.person(CLEO)
        assert "Post the review" in ben.page(f"{here}/reviews")
        assert ben.post(f"{here}/reviews", FORM).status_code == 303
        refused = cleo.post(f"{here}/reviews", FORM)
        assert (refused.status_code, "Only users who have voted" in words(refused.text)) == (403, True)
        gateway.stand_in.change_server(GOOD_SERVER, bot=False)
        assert gateway.person(CLEO).post(f"{here}/reviews", FORM).status_code == 403, "it cannot say"
        gateway.cast(CLEO, f"/manage{here}")
        assert cleo.post(f"{here}/reviews", FORM).status_code == 303
        assert len(gateway.request("GET", f"{here}/reviews.json").json()["ratings"]) == 2
