"""The fields of a listing, bot or server: lengths, categories, owners, ids, at both edges."""

import json
from typing import Any

import pytest
from requests import Response

from kinds.bots import BOTS
from kinds.servers import SERVERS
from tests.support.contract import BOT_PATH, Served, refusal, wrong_fields
from tests.support.gateways import BOT, BOT_SUBMISSION, OWNER, SERVER_SUBMISSION, ThreadGateway

BOT_CATEGORIES = [
    *["Moderation", "Utility", "Fun & Games", "Music", "Economy", "Roleplay", "Technology", "Art & Design"],
    *["Virtual Assistants", "Social Media Integration", "Anime & Manga", "Other"],
]
SERVER_CATEGORIES = [
    *["Gaming", "Anime", "Public", "Community", "Music", "Art", "Programming", "Science", "Technology"],
    *["Education", "Language", "Other"],
]
ROOTS = {"bots": BOT_SUBMISSION, "servers": SERVER_SUBMISSION}
OWNERS = [str(10**17 + number) for number in range(5)]


@pytest.fixture(params=ROOTS)
def kind(request: pytest.FixtureRequest) -> str:
    """Bots and servers alike."""
    kind: str = request.param
    return kind


def submit(gateway: ThreadGateway, kind: str, **fields: Any) -> Response:
    body = json.dumps({**ROOTS[kind], **fields}, ensure_ascii=False).encode()
    headers = {"Authorization": f"Bearer {gateway.operator_token}"}
    return gateway.request("POST", f"/manage/{kind}", headers=headers, data=body)


def resubmit(gateway: ThreadGateway, kind: str, **fields: Any) -> Response:
    """Remove the listing with this id, if any, and submit it."""
    gateway.operate("DELETE", f"/manage/{kind}/{ROOTS[kind]['id']}")
    return submit(gateway, kind, **fields)


def test_a_bot_is_submitted_with_its_fields_and_is_in_review(gateway: ThreadGateway) -> None:
    now_ms = gateway.clock.now_ms()

    response = submit(gateway, "bots", extra_owners=[OWNERS[0]], support_invite="https://chat.example/i")

    assert response.status_code == 201
    assert response.json() == {
        "success": True,
        **BOT_SUBMISSION,
        "extra_owners": [],
        "invited": [OWNERS[0]],
        "support_invite": "https://chat.example/i",
        "website": None,
        "source": None,
        "privacy": None,
        "tags": [],
        "commands": [],
        "banner": None,
        "screenshots": [],
        "text_language": "",
        "state": "in_review",
        "reason": None,
        "created_at": now_ms,
        "updated_at": now_ms,
        "reviewed_at": None,
        "has_webhook": False,
        "hand_over": None,
        "change": None,
        "server_count": None,
        "command_count": None,
        "counts_updated_at": None,
        "actual_server_count": None,
        "limits": {"stats": None, "voters": None},
    }


def test_a_server_is_submitted_with_its_fields_and_is_in_review(gateway: ThreadGateway) -> None:
    now_ms = gateway.clock.now_ms()

    response = submit(gateway, "servers")

    assert response.status_code == 201
    assert response.json() == {
        "success": True,
        **SERVER_SUBMISSION,
        "invite": None,
        "banner": None,
        "screenshots": [],
        "text_language": "",
        "state": "in_review",
        "reason": None,
        "created_at": now_ms,
        "updated_at": now_ms,
        "reviewed_at": None,
        "has_webhook": False,
        "hand_over": None,
        "change": None,
        "eligibility": None,
        "invite_check": None,
    }


def test_a_listing_is_shown_as_it_was_submitted(gateway: ThreadGateway, kind: str) -> None:
    submitted = submit(gateway, kind).json()

    assert gateway.kept(f"/manage/{kind}/{ROOTS[kind]['id']}") == submitted


def test_a_full_description_is_markdown_of_many_lines(gateway: ThreadGateway) -> None:
    text = "# A bot\r\n\n* does **this**\n\t* and <b>that</b> &amp; more"

    assert submit(gateway, "bots", description=text).json()["description"] == text


def test_each_bot_category_is_accepted(gateway: ThreadGateway) -> None:
    for category in BOT_CATEGORIES:
        assert resubmit(gateway, "bots", categories=[category]).json()["categories"] == [category]


def test_each_server_category_is_accepted(gateway: ThreadGateway) -> None:
    for category in SERVER_CATEGORIES:
        assert resubmit(gateway, "servers", category=category).json()["category"] == category


def test_there_are_no_other_categories() -> None:
    assert list(BOTS.categories) == BOT_CATEGORIES
    assert list(SERVERS.categories) == SERVER_CATEGORIES


def test_a_bot_may_have_every_category(gateway: ThreadGateway) -> None:
    assert submit(gateway, "bots", categories=BOT_CATEGORIES).json()["categories"] == BOT_CATEGORIES


@pytest.mark.parametrize(
    "categories", [[], ["Gaming"], ["utility"], [""], ["Utility", "Utility"], "Utility", [None]], ids=repr
)
def test_a_bot_has_at_least_one_category_of_the_list(served: Served, categories: Any) -> None:
    assert wrong_fields(submit(served.gateway, "bots", categories=categories)) == {"categories"}


@pytest.mark.parametrize("category", ["Moderation", "gaming", "", ["Gaming"], None], ids=repr)
def test_a_server_has_one_category_of_the_list(served: Served, category: Any) -> None:
    assert wrong_fields(submit(served.gateway, "servers", category=category)) == {"category"}


def test_a_submission_may_invite_up_to_4_extra_owners(gateway: ThreadGateway) -> None:
    for owners in (OWNERS[:count] for count in range(5)):
        shown = resubmit(gateway, "bots", extra_owners=owners).json()
        assert (shown["extra_owners"], sorted(shown["invited"])) == ([], owners)


@pytest.mark.parametrize(
    "owners",
    [OWNERS, [OWNERS[0], OWNERS[0]], ["1"], [int(OWNER)], OWNER],
    ids=lambda owners: str(owners)[:20],
)
def test_any_other_extra_owners_are_400(served: Served, owners: Any) -> None:
    assert wrong_fields(submit(served.gateway, "bots", extra_owners=owners)) == {"extra_owners"}


def test_an_extra_owner_is_another_user_than_the_owner(served: Served) -> None:
    assert wrong_fields(submit(served.gateway, "bots", extra_owners=[OWNER])) == {"extra_owners"}


@pytest.mark.parametrize("invite", [None, "https://chat.example/invite", "http://chat.example"])
def test_a_support_server_invite_is_optional(gateway: ThreadGateway, invite: str | None) -> None:
    assert submit(gateway, "bots", support_invite=invite).json()["support_invite"] == invite


@pytest.mark.parametrize("invite", ["", "chat.example/invite", "javascript:alert(1)", 5])
def test_a_support_server_invite_is_a_url(served: Served, invite: Any) -> None:
    assert wrong_fields(submit(served.gateway, "bots", support_invite=invite)) == {"support_invite"}


def test_a_server_may_have_up_to_5_keywords_of_up_to_32_characters(gateway: ThreadGateway) -> None:
    for keywords in ([], ["k"], ["a", "b", "c", "d", "e"], ["k" * 32], ["ü" * 32]):
        assert resubmit(gateway, "servers", keywords=keywords).json()["keywords"] == keywords


@pytest.mark.parametrize(
    "keywords",
    [["a", "b", "c", "d", "e", "f"], ["k" * 33], [""], [" "], ["a", "a"], "a", [5], None],
    ids=repr,
)
def test_any_other_keywords_are_400(served: Served, keywords: Any) -> None:
    assert wrong_fields(submit(served.gateway, "servers", keywords=keywords)) == {"keywords"}


@pytest.mark.parametrize("field", ["id", "owner_id"])
def test_an_id_has_17_to_20_digits(gateway: ThreadGateway, kind: str, field: str) -> None:
    for snowflake in ("1" + "0" * 16, "9" * 19, "18446744073709551615"):
        assert resubmit(gateway, kind, **{field: snowflake}).json()[field] == snowflake


@pytest.mark.parametrize("field", ["id", "owner_id"])
@pytest.mark.parametrize(
    "malformed",
    ["9" * 16, "1" * 21, "18446744073709551616", "0" * 18, "１" * 18, BOT + "\n", " " + BOT, int(BOT)],
    ids=repr,
)
def test_any_other_id_is_400(served: Served, kind: str, field: str, malformed: Any) -> None:
    assert wrong_fields(submit(served.gateway, kind, **{field: malformed})) == {field}


@pytest.mark.parametrize("kind", ROOTS)
def test_every_wrong_field_is_named_at_once(served: Served, kind: str) -> None:
    nothing = dict.fromkeys(ROOTS[kind])

    assert wrong_fields(served.operate("POST", f"/manage/{kind}", nothing)) == set(nothing)
    assert wrong_fields(served.operate("POST", f"/manage/{kind}", {})) == set(nothing)


def test_a_field_that_does_not_exist_is_400(served: Served, kind: str) -> None:
    assert wrong_fields(submit(served.gateway, kind, state="approved")) == {"state"}


def test_an_id_is_listed_once(gateway: ThreadGateway, kind: str) -> None:
    submit(gateway, kind)

    assert refusal(submit(gateway, kind)) == (409, "A listing with this id exists.")


@pytest.mark.parametrize("count", [0, 10_000_000])
def test_the_operator_sets_the_actual_server_count(gateway: ThreadGateway, count: int) -> None:
    submit(gateway, "bots")

    answer = gateway.done("PUT", f"{BOT_PATH}/actual-server-count", {"server_count": count})

    assert answer == {"success": True, "server_count": count}
    assert gateway.done("GET", BOT_PATH)["actual_server_count"] == count


@pytest.mark.parametrize("count", [-1, 10_000_001, 1.5, "5", None, True], ids=repr)
def test_any_other_actual_server_count_is_400(served: Served, count: Any) -> None:
    response = served.operate("PUT", f"{BOT_PATH}/actual-server-count", {"server_count": count})

    assert wrong_fields(response) == {"server_count"}


@pytest.mark.parametrize(
    "policy", [{"requests": 1, "window_seconds": 1}, {"requests": 10**6, "window_seconds": 2_592_000}]
)
@pytest.mark.parametrize("endpoint", ["stats", "voters"])
def test_the_operator_sets_limits(gateway: ThreadGateway, endpoint: str, policy: dict[str, int]) -> None:
    submit(gateway, "bots")

    gateway.done("PUT", f"{BOT_PATH}/limits", {endpoint: policy})

    assert gateway.done("GET", BOT_PATH)["limits"][endpoint] == policy


@pytest.mark.parametrize("endpoint", ["stats", "voters"])
@pytest.mark.parametrize(
    "policy",
    [
        {"requests": 0, "window_seconds": 60},
        {"requests": 1, "window_seconds": 0},
        {"requests": 1_000_001, "window_seconds": 60},
        {"requests": 1, "window_seconds": 2_592_001},
        {"requests": 1},
        {"window_seconds": 60},
        {},
        5,
    ],
    ids=repr,
)
def test_any_other_limit_is_400(served: Served, endpoint: str, policy: Any) -> None:
    assert wrong_fields(served.operate("PUT", f"{BOT_PATH}/limits", {endpoint: policy})) == {endpoint}


def test_listings_survive_a_restart(gateway: ThreadGateway, kind: str) -> None:
    submitted = submit(gateway, kind).json()

    gateway.restart()

    assert gateway.kept(f"/manage/{kind}/{submitted['id']}") == submitted
