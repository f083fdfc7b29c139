"""Authentication: the key of the bot, and for the management view the operator's token."""

import base64
from collections.abc import Callable

import pytest
from requests import Response

from tests.support.contract import BOT_PATH, HEADER_REQUIRED, INVALID_KEY, STATS, Served, refusal
from tests.support.gateways import BOT, OPERATOR_TOKEN, OTHER_BOT, USER, ThreadGateway

VOTERS = f"/bots/{BOT}/voters/{USER}"

Call = Callable[..., Response]

both = pytest.mark.parametrize(
    "call",
    [
        lambda gateway, key, bot=BOT: gateway.stats(key, {"command_count": 5}, bot),
        lambda gateway, key, bot=BOT: gateway.voters(key, bot),
    ],
    ids=["stats", "voters"],
)


@both
def test_both_endpoints_take_the_key_as_the_entire_authorization_header(
    gateway: ThreadGateway, key: str, call: Call
) -> None:
    assert call(gateway, key).status_code == 200


@both
def test_a_missing_authorization_header_is_401_authorization_header_is_required(
    served: Served, call: Call
) -> None:
    assert refusal(call(served.gateway, None)) == HEADER_REQUIRED


@both
@pytest.mark.parametrize(
    "unknown",
    ["wrong", "vg_" + "A" * 43, "vg_", "Bearer", OPERATOR_TOKEN, f"Bearer {OPERATOR_TOKEN}", "x" * 5_000],
)
def test_an_unknown_key_is_401_invalid_api_key(served: Served, call: Call, unknown: str) -> None:
    assert refusal(call(served.gateway, unknown)) == INVALID_KEY


@both
@pytest.mark.parametrize(
    "spoil",
    [
        lambda key: f"Bearer {key}",
        lambda key: f"Bot {key}",
        lambda key: base64.b64encode(key.encode()).decode(),
        lambda key: key.removeprefix("vg_"),
        lambda key: key[:-1],
        lambda key: key + "A",
        lambda key: key.swapcase(),
        lambda key: f'"{key}"',
        lambda key: f"{key}, {key}",
    ],
    ids=["Bearer", "Bot", "base64", "no prefix", "shorter", "longer", "other case", "quoted", "twice"],
)
def test_no_prefix_scheme_or_encoding_is_accepted(
    served: Served, call: Call, spoil: Callable[[str], str]
) -> None:
    assert refusal(call(served.gateway, spoil(served.key))) == INVALID_KEY


NO_SCHEME = 'ApiKey hint="no scheme: the key is the entire value of the Authorization header"'


@both
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "Bot", "Token", "Basic"])
def test_a_key_with_a_scheme_before_it_is_401_and_a_header_says_no_scheme(
    served: Served, call: Call, scheme: str
) -> None:
    response = call(served.gateway, f"{scheme} {served.key}")

    assert refusal(response) == INVALID_KEY
    assert response.headers["www-authenticate"] == NO_SCHEME


@both
@pytest.mark.parametrize("key", [None, "wrong", "vg_" + "A" * 43, "Bearer", "two-words of-it", "vg_a vg_b"])
def test_a_401_for_a_key_without_a_scheme_has_no_hint(served: Served, call: Call, key: str | None) -> None:
    assert "www-authenticate" not in call(served.gateway, key).headers


@both
def test_a_key_is_bound_to_its_bot(gateway: ThreadGateway, key: str, call: Call) -> None:
    gateway.list_bot(OTHER_BOT)

    assert refusal(call(gateway, key, OTHER_BOT)) == INVALID_KEY


def test_a_key_is_no_operator_token(served: Served) -> None:
    response = served.gateway.request("GET", BOT_PATH, headers={"Authorization": f"Bearer {served.key}"})

    assert refusal(response) == (401, "Invalid operator token.")


def test_a_management_call_without_a_token_is_401(served: Served) -> None:
    response = served.gateway.request("GET", "/manage/bots")

    assert refusal(response) == (401, "The operator token is required.")
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "authorization",
    [
        "Bearer wrong",
        "Bearer",
        "Bearer ",
        OPERATOR_TOKEN,
        f"Basic {OPERATOR_TOKEN}",
        f"Bearer {OPERATOR_TOKEN}x",
        f"Bearer {OPERATOR_TOKEN[:-1]}",
        f"Bearer {OPERATOR_TOKEN.upper()}",
        b"Bearer \xff\xfe",
    ],
)
def test_a_management_call_with_a_wrong_token_is_401(served: Served, authorization: str | bytes) -> None:
    response = served.gateway.request("GET", "/manage/bots", headers={"Authorization": authorization})

    assert refusal(response) == (401, "Invalid operator token.")
    assert response.headers["www-authenticate"] == "Bearer"


def test_the_scheme_of_the_operator_token_may_be_in_any_case(served: Served) -> None:
    response = served.gateway.request(
        "GET", "/manage/bots", headers={"Authorization": f"bEARER {OPERATOR_TOKEN}"}
    )

    assert response.status_code == 200


@pytest.mark.parametrize(("method", "path"), [("PATCH", STATS), ("GET", VOTERS)])
def test_the_name_of_the_authorization_header_may_be_in_any_case(
    gateway: ThreadGateway, key: str, method: str, path: str
) -> None:
    response = gateway.request(method, path, headers={"aUTHORIZATION": key}, data='{"command_count": 5}')

    assert response.status_code == 200
