"""Reviews by users, through the management API: stars and a text, from users who voted."""

from typing import Any

import pytest

from tests.support.gateways import BOT, OTHER_USER, USER, ThreadGateway

HERE = f"/manage/bots/{BOT}"
RATINGS = f"{HERE}/ratings"
MINE = f"{RATINGS}/{USER}"
WORDS = "It counts well, and its owner helps."
REVIEW = {"stars": 4, "text": WORDS}
THIRD_USER = "500000000000000003"


@pytest.fixture(autouse=True)
def _listed(gateway: ThreadGateway) -> None:
    """List a bot that two users have voted for."""
    gateway.list_bot(BOT)
    for user in (USER, OTHER_USER):
        gateway.done("POST", f"{HERE}/votes", {"user": user})


def refused(gateway: ThreadGateway, method: str, path: str, body: object = None) -> tuple[int, str]:
    answer = gateway.operate(method, path, body)
    assert not answer.json()["success"]
    return answer.status_code, str(answer.json()["error"])


def listed(gateway: ThreadGateway) -> dict[str, Any]:
    found = dict(gateway.done("GET", RATINGS))
    return {name: found[name] for name in ("count", "mean", "stars")} | {
        "by": [(each["user"], each["stars"]) for each in found["ratings"]]
    }


def test_a_user_who_voted_writes_one_review_and_edits_it(gateway: ThreadGateway) -> None:
    first = gateway.done("PUT", MINE, REVIEW)
    assert (first["stars"], first["text"], first["edited_at"], first["answer"]) == (4, WORDS, None, None)
    gateway.clock.advance(60)
    edited = gateway.done("PUT", MINE, {"stars": 5, "text": f"{WORDS} Still."})
    assert (edited["at"], edited["edited_at"]) == (first["at"], first["at"] + 60_000)
    assert listed(gateway) == {"count": 1, "mean": 3.75, "stars": [0, 0, 0, 0, 1], "by": [(USER, 5)]}


def test_the_mean_is_as_if_five_more_users_had_given_three_and_a_half_stars(gateway: ThreadGateway) -> None:
    assert listed(gateway)["mean"] == 3.5
    gateway.done("PUT", MINE, {**REVIEW, "stars": 1})
    gateway.clock.advance(1)
    gateway.done("PUT", f"{RATINGS}/{OTHER_USER}", {**REVIEW, "stars": 2})
    assert listed(gateway) == {
        "count": 2,
        "mean": round((5 * 3.5 + 1 + 2) / 7, 2),
        "stars": [1, 1, 0, 0, 0],
        "by": [(OTHER_USER, 2), (USER, 1)],
    }


def test_only_users_who_voted_review(gateway: ThreadGateway) -> None:
    assert refused(gateway, "PUT", f"{RATINGS}/{THIRD_USER}", REVIEW) == (
        403,
        "Only users who have voted for the listing review it.",
    )


def test_owners_do_not_review_their_own_listing(gateway: ThreadGateway) -> None:
    owner = gateway.done("GET", HERE)["owner_id"]
    gateway.done("POST", f"{HERE}/votes", {"user": owner})
    assert refused(gateway, "PUT", f"{RATINGS}/{owner}", REVIEW)[0] == 403


def test_a_listing_that_is_not_approved_gets_no_review(gateway: ThreadGateway) -> None:
    gateway.done("POST", f"{HERE}/withdraw", {"reason": "It is down."})
    assert refused(gateway, "PUT", MINE, REVIEW)[0] == 409


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"stars": 0, "text": WORDS}, "stars"),
        ({"stars": 6, "text": WORDS}, "stars"),
        ({"stars": 4.5, "text": WORDS}, "stars"),
        ({"stars": "4", "text": WORDS}, "stars"),
        ({"stars": True, "text": WORDS}, "stars"),
        ({"text": WORDS}, "stars"),
        ({"stars": 4}, "text"),
        ({"stars": 4, "text": "x" * 19}, "text"),
        ({"stars": 4, "text": "x" * 1_001}, "text"),
        ({"stars": 4, "text": " " * 40}, "text"),
        ({"stars": 4, "text": f"{WORDS}\u202e"}, "text"),
        ({"stars": 4, "text": f"{WORDS}\x00"}, "text"),
        ({"stars": 4, "text": WORDS, "by": USER}, "by"),
    ],
)
def test_a_review_has_1_to_5_stars_and_20_to_1_000_characters(
    gateway: ThreadGateway, body: object, field: str
) -> None:
    answer = gateway.operate("PUT", MINE, body)
    assert (answer.status_code, [*answer.json()["fields"]]) == (400, [field])
    assert listed(gateway)["count"] == 0


@pytest.mark.parametrize(("stars", "text"), [(1, "x" * 20), (5, "é" * 1_000)])
def test_the_limits_of_a_review_themselves_are_taken(gateway: ThreadGateway, stars: int, text: str) -> None:
    assert gateway.done("PUT", MINE, {"stars": stars, "text": text})["text"] == text


@pytest.mark.parametrize("path", [f"{RATINGS}/me", f"{RATINGS}/{'9' * 20}"])
def test_the_author_is_an_id(gateway: ThreadGateway, path: str) -> None:
    assert refused(gateway, "PUT", path, REVIEW)[0] == 400


def test_a_user_has_100_reviews_at_most(gateway: ThreadGateway) -> None:
    bots = [str(int(BOT) + number) for number in range(1, 102)]
    for bot in bots:
        gateway.list_bot(bot)
        gateway.done("POST", f"/manage/bots/{bot}/votes", {"user": USER})
    for bot in bots[:100]:
        gateway.done("PUT", f"/manage/bots/{bot}/ratings/{USER}", REVIEW)
    last = f"/manage/bots/{bots[100]}/ratings/{USER}"
    assert refused(gateway, "PUT", last, REVIEW) == (409, "A user has 100 reviews at most; delete one first.")
    gateway.done("PUT", f"/manage/bots/{bots[0]}/ratings/{USER}", {**REVIEW, "stars": 1})
    gateway.done("DELETE", f"/manage/bots/{bots[1]}")
    assert gateway.done("PUT", last, REVIEW)["stars"] == 4, "the review of a listing that is gone makes room"


def test_an_author_takes_a_review_back_and_writes_another(gateway: ThreadGateway) -> None:
    gateway.done("PUT", MINE, REVIEW)
    gateway.done("PUT", f"{MINE}/answer", {"text": "Thanks!"})
    for _ in range(2):
        assert gateway.done("DELETE", MINE) == {"success": True}
        assert listed(gateway)["count"] == 0
    assert gateway.done("PUT", MINE, REVIEW)["answer"] is None, "the answer was to the review before"


def test_the_owners_answer_once_and_edit_and_take_back_their_answer(gateway: ThreadGateway) -> None:
    gateway.done("PUT", MINE, REVIEW)
    for text in ("Thank you!", "Thank you, and see you."):
        assert gateway.done("PUT", f"{MINE}/answer", {"text": text})["answer"]["text"] == text
    assert gateway.done("PUT", MINE, {**REVIEW, "stars": 3})["answer"]["text"] == "Thank you, and see you."
    for _ in range(2):
        gateway.done("DELETE", f"{MINE}/answer")
        assert gateway.done("GET", RATINGS)["ratings"][0]["answer"] is None
    assert refused(gateway, "PUT", f"{RATINGS}/{OTHER_USER}/answer", {"text": "You?"})[0] == 404
    assert refused(gateway, "PUT", f"{MINE}/answer", {"text": "x" * 1_001})[0] == 400
    assert refused(gateway, "PUT", f"{MINE}/answer", {"text": ""})[0] == 400


def test_a_moderator_removes_a_review_and_its_author_reads_why(gateway: ThreadGateway) -> None:
    gateway.done("PUT", MINE, REVIEW)
    report = {"user": OTHER_USER, "reason": "breaks_rules", "text": "It insults."}
    assert gateway.operate("POST", f"{MINE}/reports", report).status_code == 201
    gateway.done("POST", f"{MINE}/remove", {"reason": "Insults."})
    assert listed(gateway)["count"] == 0
    assert gateway.done("GET", f"{HERE}/reports")["reports"] == []
    assert refused(gateway, "PUT", MINE, REVIEW)[0] == 403, "and writes no other one"
    assert refused(gateway, "POST", f"{MINE}/remove", {"reason": "Again."})[0] == 404
    told = {
        user: [(each["deed"], each["about"]) for each in gateway.done("GET", f"{path}/notices")["notices"]]
        for user, path in (
            ("author", f"/manage/users/{USER}"),
            ("reporter", f"/manage/users/{OTHER_USER}"),
        )
        if gateway.operate("GET", path).status_code == 200
    }
    assert told["author"] == [("own_rating_removed", "Insults.")]
    history = gateway.done("GET", f"{HERE}/history")["history"]
    assert ("rating_removed", "Insults.") in [(each["deed"], each["about"]) for each in history]


def test_a_review_is_reported_into_the_queue_of_its_listing(gateway: ThreadGateway) -> None:
    gateway.done("PUT", MINE, REVIEW)
    words = {"user": OTHER_USER, "reason": "other", "text": "He is my rival."}
    for text in ("He is my rival.", "He is paid."):
        gateway.operate("POST", f"{MINE}/reports", {**words, "text": text})
    gateway.operate("POST", f"{HERE}/reports", {**words, "text": "The bot is down."})
    found = gateway.done("GET", f"{HERE}/reports")["reports"]
    assert [(each["rating"], each["text"]) for each in found] == [
        (None, "The bot is down."),
        (USER, "He is paid."),
    ]
    assert gateway.done("GET", "/manage/reports")["listings"][0]["reports"] == 2
    assert refused(gateway, "POST", f"{RATINGS}/{THIRD_USER}/reports", words)[0] == 404
    gateway.done("POST", f"{HERE}/reports/settle", {"seen": [found[1]["id"]]})
    assert [each["rating"] for each in gateway.done("GET", f"{HERE}/reports")["reports"]] == [None]


def test_struck_votes_take_the_reviews_of_their_users_with_them(gateway: ThreadGateway) -> None:
    for user in (USER, OTHER_USER):
        gateway.done("PUT", f"{RATINGS}/{user}", REVIEW)
    gateway.done("POST", f"{HERE}/votes/strike", {"users": [USER], "reason": "Bought"})
    assert listed(gateway)["by"] == [(OTHER_USER, 4)]


def test_an_erased_user_has_no_review_and_no_report_of_one(gateway: ThreadGateway) -> None:
    gateway.done("PUT", MINE, REVIEW)
    gateway.operate("POST", f"{MINE}/reports", {"user": OTHER_USER, "reason": "other", "text": "Paid."})
    gateway.done("DELETE", f"/manage/users/{USER}")
    assert listed(gateway)["count"] == 0
    assert gateway.done("GET", f"{HERE}/reports")["reports"] == []
    assert USER not in str(gateway.done("GET", HERE))


def test_a_quarantined_user_reviews_nothing(gateway: ThreadGateway) -> None:
    gateway.done("PUT", f"/manage/users/{USER}/quarantines/vote", {"reason": "Buys", "until": None})
    assert refused(gateway, "PUT", MINE, REVIEW)[0] == 403


def test_a_listing_that_is_submitted_again_begins_without_reviews(gateway: ThreadGateway) -> None:
    gateway.done("PUT", MINE, REVIEW)
    gateway.done("DELETE", HERE)
    gateway.clock.advance(1)
    gateway.list_bot(BOT)
    assert listed(gateway) == {"count": 0, "mean": 3.5, "stars": [0] * 5, "by": []}
    gateway.done("POST", f"{HERE}/votes", {"user": USER})
    assert gateway.done("PUT", MINE, {**REVIEW, "stars": 2})["stars"] == 2
    gateway.restart()
    assert listed(gateway)["by"] == [(USER, 2)]


def test_the_reviews_come_in_pages_the_newest_first(gateway: ThreadGateway) -> None:
    users = [str(int(THIRD_USER) + number) for number in range(5)]
    for number, user in enumerate(users):
        gateway.clock.advance(number % 2)  # some in the same millisecond
        gateway.done("POST", f"{HERE}/votes", {"user": user})
        gateway.done("PUT", f"{RATINGS}/{user}", REVIEW)
    seen, query = list[str](), "limit=2"
    while query:
        page = gateway.done("GET", f"{RATINGS}?{query}")
        seen += [each["user"] for each in page["ratings"]]
        query = f"limit=2&after={page['next']}" if page["next"] is not None else ""
    assert seen == users[::-1]
    for cursor in ("x", "1-", "-1", "1_2"):
        assert refused(gateway, "GET", f"{RATINGS}?after={cursor}")[0] == 400


def test_reviews_survive_a_restart(gateway: ThreadGateway) -> None:
    gateway.done("PUT", MINE, REVIEW)
    gateway.done("PUT", f"{MINE}/answer", {"text": "Thanks!"})
    gateway.done("PUT", f"{RATINGS}/{OTHER_USER}", REVIEW)
    gateway.done("POST", f"{RATINGS}/{OTHER_USER}/remove", {"reason": "Insults."})
    digest, before = gateway.digest(), gateway.done("GET", RATINGS)
    gateway.restart()
    assert (gateway.digest(), gateway.done("GET", RATINGS)) == (digest, before)
    assert refused(gateway, "PUT", f"{RATINGS}/{OTHER_USER}", REVIEW)[0] == 403
