"""The contract's rows on server listings, their eligibility, and votes for servers, as owners and voters meet
them: in the web form, beside a stand-in for the chat platform, and at a receiver of webhooks.

The tests are named after the rows.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from kinds.servers import SERVERS
from tests.support.chat_channel import CHAT_PATH, TOKEN, described, host_of
from tests.support.contract import attempted, deliveries, set_webhook
from tests.support.gateways import eventually
from tests.support.listed_servers import NEW, TYPED, listed, outcomes, reader, serving_servers, shown, unlist
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, GOOD_SERVER, WITHOUT_BOT
from tests.support.webhook_receiver import Receiver, receiving, status

DAY_SECONDS = 86_400
MANAGE, VOTE = f"/manage/servers/{GOOD_SERVER}", f"/servers/{GOOD_SERVER}/vote"
CATEGORIES = [
    *("Gaming", "Anime", "Public", "Community", "Music", "Art"),
    *("Programming", "Science", "Technology", "Education", "Language", "Other"),
]
GOOD: dict[str, Any] = {
    "approximate_member_count": 100,
    "icon": "0" * 32,
    "mfa_level": 1,
    "features": ["COMMUNITY"],
    "channels": [],
    "nsfw_level": 0,
    "bot": True,
}
"""A server that meets every condition, if only just."""


def channel(name: str, *, nsfw: bool, denied: int = 0) -> dict[str, Any]:
    return {"id": "700000000000000009", "name": name, "type": 0, "nsfw": nsfw, "denied": denied}


@pytest.fixture(scope="module")
def chat() -> Iterator[Receiver]:
    """A receiver that the gateway takes for a chat platform's."""
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, chat: Receiver) -> Iterator[PeopleGateway]:
    folder = tmp_path_factory.mktemp("servers") / "data"
    settings = {"webhooks.chat_hosts": host_of(chat), "servers.grace_days": 2}
    with serving_servers(folder, **settings) as gateway:
        yield gateway


@pytest.fixture(autouse=True)
def nothing_is_listed(gateway: PeopleGateway, chat: Receiver) -> None:
    unlist(gateway, GOOD_SERVER, WITHOUT_BOT)
    gateway.stand_in.change_server(GOOD_SERVER, **GOOD)
    chat.received.clear()


@pytest.fixture
def ada(gateway: PeopleGateway) -> Person:
    """The server's manager. The gateway has just read the manager's list of servers."""
    return reader(gateway)


def is_listed(gateway: PeopleGateway) -> bool:
    return gateway.operate("GET", MANAGE).status_code == 200


def sent(receiver: Receiver) -> list[Any]:
    return [json.loads(call.body) for call in receiver.received]


# -- Server listing attributes ----------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "is_taken"), [(0, True), (256, True), (257, False)])
def test_server_listing_description_up_to_256_characters(
    gateway: PeopleGateway, ada: Person, length: int, is_taken: bool
) -> None:
    answer = ada.post(NEW, {**TYPED, "description": "d" * length})
    assert (answer.status_code, is_listed(gateway)) == ((303, True) if is_taken else (400, False))


@pytest.mark.parametrize(
    ("keywords", "is_taken"),
    [
        ([], True),
        (["one", "two", "three", "four", "k" * 32], True),
        (["one", "two", "three", "four", "five", "six"], False),
        (["k" * 33], False),
    ],
    ids=["none", "5 of up to 32", "6", "33 characters"],
)
def test_server_listing_keywords_up_to_5_each_up_to_32_characters(
    gateway: PeopleGateway, ada: Person, keywords: list[str], is_taken: bool
) -> None:
    answer = ada.post(NEW, {**TYPED, "keywords": "\n".join(keywords)})
    assert (answer.status_code, is_listed(gateway)) == ((303, True) if is_taken else (400, False))
    if is_taken:
        assert shown(gateway)["keywords"] == keywords


def test_server_listing_category_one_of_twelve(gateway: PeopleGateway, ada: Person) -> None:
    assert list(SERVERS.categories) == CATEGORIES
    for category in CATEGORIES:
        unlist(gateway, GOOD_SERVER)
        gateway.clock.advance(10)  # no user may have a server checked more often
        assert ada.post(NEW, {**TYPED, "category": category}).status_code == 303
        assert shown(gateway)["category"] == category


@pytest.mark.parametrize("category", ["", "Moderation", "gaming"])
def test_server_listing_category_is_none_else(gateway: PeopleGateway, ada: Person, category: str) -> None:
    assert ada.post(NEW, {**TYPED, "category": category}).status_code == 400
    assert not is_listed(gateway)


def test_server_listing_webhook_url_is_optional(gateway: PeopleGateway, ada: Person) -> None:
    assert ada.post(NEW, TYPED).status_code == 303
    assert gateway.operate("GET", f"{MANAGE}/webhook").status_code == 404


@pytest.mark.parametrize(
    "url",
    ["{}/votes", "{}/api/webhooks/123456789", "{}/api/webhooks/name/" + TOKEN, "https://elsewhere.example/"],
)
def test_server_listing_webhook_url_is_one_of_the_chat_platform(
    gateway: PeopleGateway, ada: Person, chat: Receiver, url: str
) -> None:
    answer = ada.post(NEW, {**TYPED, "webhook_url": url.format(chat.url)})
    assert (answer.status_code, is_listed(gateway)) == (400, False)


def test_server_listing_webhook_url_receives_vote_notifications(
    gateway: PeopleGateway, ada: Person, chat: Receiver
) -> None:
    typed = {**TYPED, "webhook_url": chat.url + CHAT_PATH, "webhook_language": "de"}
    assert ada.post(NEW, typed).status_code == 303
    gateway.done("POST", f"{MANAGE}/approve", {})
    gateway.person(BEN).acted(VOTE)
    (call,) = eventually(lambda: chat.received)
    assert call.path.endswith(CHAT_PATH.removeprefix("/api"))
    assert "authorization" not in call.headers
    assert BEN in described(call)
    assert "hat für den Server gestimmt" in described(call)


# -- Eligibility, checked automatically when listing a server ---------------------------------------------


@pytest.mark.parametrize(
    ("condition", "wrong"),
    [
        pytest.param("members", {"approximate_member_count": 99}, id="minimum member count"),
        pytest.param("icon", {"icon": None}, id="custom icon set"),
        pytest.param("two_factor", {"mfa_level": 0}, id="two-factor authentication enabled"),
        pytest.param("community", {"features": []}, id="community feature enabled"),
        pytest.param("nsfw", {"channels": [channel("red", nsfw=True)]}, id="no ungated NSFW channels"),
    ],
)
def test_eligibility_checked_automatically_when_listing_a_server(
    gateway: PeopleGateway, ada: Person, condition: str, wrong: dict[str, Any]
) -> None:
    gateway.stand_in.change_server(GOOD_SERVER, **wrong)
    assert "not met" in words(ada.page(f"{NEW}?id={GOOD_SERVER}"))
    assert (ada.post(NEW, TYPED).status_code, is_listed(gateway)) == (409, False)
    gateway.stand_in.change_server(GOOD_SERVER, **GOOD)
    assert ada.post(NEW, TYPED).status_code == 303
    assert outcomes(gateway)[condition] == "pass"


def test_eligibility_minimum_server_age(gateway: PeopleGateway, ada: Person) -> None:
    page = ada.page(NEW)
    young = page.rpartition(">Made yesterday<")[0].rpartition("/servers/new?id=")[2].partition('"')[0]
    assert young.isdigit()
    shown = words(ada.page(f"{NEW}?id={young}"))
    assert "Age in days It has 0, and needs 14. not met" in shown
    assert ada.post(NEW, {**TYPED, "id": young}).status_code == 409
    assert gateway.operate("GET", f"/manage/servers/{young}").status_code == 404


def test_eligibility_an_nsfw_channel_that_is_gated_is_none(gateway: PeopleGateway, ada: Person) -> None:
    gateway.stand_in.change_server(GOOD_SERVER, channels=[channel("staff", nsfw=True, denied=1 << 10)])
    assert ada.post(NEW, TYPED).status_code == 303
    assert outcomes(gateway)["nsfw"] == "pass"


def test_eligibility_has_have_and_need_of_each_line(gateway: PeopleGateway) -> None:
    listed(gateway)
    lines = {each["name"]: (each["have"], each["need"]) for each in shown(gateway)["eligibility"]["checks"]}
    age = lines.pop("age")
    assert age[0] >= age[1] == 14
    assert lines == {
        "members": (100, 100),
        "icon": (1, 1),
        "two_factor": (1, 1),
        "community": (1, 1),
        "nsfw": (0, 0),
    }


def test_server_listing_review_an_automated_check_and_a_shorter_review(
    gateway: PeopleGateway, ada: Person
) -> None:
    for server in (WITHOUT_BOT, GOOD_SERVER):
        assert ada.post(NEW, {**TYPED, "id": server}).status_code == 303
    queue = [each["id"] for each in gateway.done("GET", "/manage/queue")["queue"]]
    assert queue == [GOOD_SERVER, WITHOUT_BOT]
    assert outcomes(gateway, WITHOUT_BOT)["two_factor"] == "unknown"
    cleo = gateway.person(CLEO)
    seen = {"seen": cleo.get(f"/review/servers/{GOOD_SERVER}.json").json()["listing"]["updated_at"]}
    cleo.acted(f"/review/servers/{GOOD_SERVER}/approve", seen)
    assert shown(gateway)["state"] == "approved"
    assert "approved" in words(ada.page("/me/notices"))


def test_eligibility_is_checked_again_daily_and_what_fails_is_hidden_after_the_grace_period(
    gateway: PeopleGateway,
) -> None:
    listed(gateway, decision="approve")
    gateway.stand_in.change_server(GOOD_SERVER, mfa_level=0)
    gateway.restart(DAY_SECONDS)  # the first round begins with the process
    eventually(lambda: shown(gateway)["eligibility"]["failing_since"])
    assert gateway.person(BEN).get(VOTE).status_code == 200
    ada = gateway.person(ADA)
    assert "does not meet every condition any more" in words(ada.page("/me/notices"))
    gateway.restart(2 * DAY_SECONDS)
    eventually(lambda: shown(gateway)["eligibility"]["hidden_since"])
    ben = gateway.person(BEN)
    assert [ben.get(path).status_code for path in (VOTE, f"/servers/{GOOD_SERVER}")] == [404, 404]
    assert gateway.operate("POST", f"{MANAGE}/votes", {"user": BEN}).status_code == 409
    assert "is hidden until it meets every condition again" in words(gateway.person(ADA).page("/me/notices"))
    gateway.stand_in.change_server(GOOD_SERVER, mfa_level=1)
    gateway.restart(DAY_SECONDS)
    eventually(lambda: shown(gateway)["eligibility"]["hidden_since"] is None)
    ben = gateway.person(BEN)
    assert [ben.get(path).status_code for path in (VOTE, f"/servers/{GOOD_SERVER}")] == [200, 200]


# -- Votes for a server -----------------------------------------------------------------------------------


def test_server_vote_sends_guild_user_and_test_false(gateway: PeopleGateway, receiver: Receiver) -> None:
    listed(gateway, decision="approve")
    set_webhook(gateway, receiver.url, MANAGE, token="the token of the server")
    assert "Your vote for" in words(gateway.person(BEN).acted(VOTE))
    eventually(lambda: receiver.received)
    assert sent(receiver) == [{"guild": GOOD_SERVER, "user": BEN, "test": False}]
    (call,) = receiver.received
    assert (call.method, call.headers["content-type"]) == ("POST", "application/json")
    assert call.headers["authorization"] == "the token of the server"


def test_server_vote_test_sends_user_and_test_true_without_guild(
    gateway: PeopleGateway, receiver: Receiver
) -> None:
    ada = listed(gateway, decision="approve")
    set_webhook(gateway, receiver.url, MANAGE)
    ada.acted(f"/servers/{GOOD_SERVER}/manage/webhook/test")
    assert sent(receiver) == [{"user": ADA, "test": True}]


def test_server_vote_is_retried_up_to_3_times_5_seconds_apart(
    gateway: PeopleGateway, receiver: Receiver
) -> None:
    listed(gateway, decision="approve")
    receiver.default = status(500)
    set_webhook(gateway, receiver.url, MANAGE)
    gateway.person(BEN).acted(VOTE)
    for attempts in range(1, 4):
        attempted(gateway, attempts, MANAGE)
        gateway.advance(5)
    delivery = attempted(gateway, 4, MANAGE)
    times = [attempt["at"] for attempt in delivery["attempts"]]
    assert [later - earlier for earlier, later in pairwise(times)] == [5_000] * 3
    gateway.advance(60)
    assert len(deliveries(gateway, MANAGE)[0]["attempts"]) == len(receiver.received) == 4


def test_server_vote_counts_for_its_user_within_24_hours_and_over_all_time(gateway: PeopleGateway) -> None:
    listed(gateway, decision="approve")
    for votes in (1, 2):
        ben = gateway.person(BEN)
        ben.acted(VOTE)
        assert ben.post(VOTE).status_code == 409
        (status_of,) = gateway.done("POST", f"{MANAGE}/votes/check", {"users": [BEN]})["votes"]
        assert (status_of["voted"], status_of["vote"]) == (True, votes)
        gateway.advance(DAY_SECONDS)
    (status_of,) = gateway.done("POST", f"{MANAGE}/votes/check", {"users": [BEN]})["votes"]
    assert (status_of["voted"], status_of["vote"]) == (False, 2)


def test_server_vote_needs_an_approved_server(gateway: PeopleGateway) -> None:
    listed(gateway)
    assert gateway.person(BEN).post(VOTE).status_code == 404
    assert gateway.operate("POST", f"{MANAGE}/votes", {"user": BEN}).status_code == 409
