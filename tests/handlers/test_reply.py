"""handlers/reply.py: an error has one shape, and its code decides all of it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from core.failures import PlaceLost, SearchUnavailable, Unavailable
from handlers.reply import SPOKEN, Spoken, limited, refused, reply_to, without_code
from languages.refusals import Invalid, Refusal
from languages.said import SAID, Code, Fault, in_words
from languages.texts import Text
from ratelimit.bucket import Decision, TooManyRequests


@pytest.mark.parametrize("code", SAID)
def test_every_code_has_an_answer_with_its_status_and_its_text(code: Code) -> None:
    said = SAID[code]
    body = json.loads(refused(code, **said.facts).body) if code != "invalid_fields" else said_of_fields()
    known = {"success": False, "error": in_words(code, said.facts), "status": said.status, "code": code}
    assert body == {**body, **known}
    assert refused("too_many_keys", most=2).why == Fault("too_many_keys", {"most": 2})


def said_of_fields() -> Mapping[str, Any]:
    body: Mapping[str, Any] = json.loads(reply_to(Invalid({"id": Fault("no_snowflake")})).body)
    assert body["fields"] == {"id": "must be a snowflake: 17 to 20 digits"}
    return body


@pytest.mark.parametrize(
    ("error", "status", "code", "text"),
    [
        (Unavailable("full"), 503, "unavailable", "Nothing can be written right now: full."),
        (
            Unavailable(Text("it {what}", what="stops")),
            503,
            "unavailable",
            "Nothing can be written right now: it stops.",
        ),
        (SearchUnavailable(), 503, "search_unavailable", "Listings cannot be searched right now."),
        (PlaceLost(), 410, "place_lost", in_words("place_lost")),
    ],
)
def test_a_failure_that_is_nobodys_mistake_has_a_code_too(
    error: Spoken, status: int, code: str, text: str
) -> None:
    assert isinstance(error, SPOKEN)
    reply = reply_to(error)
    assert json.loads(reply.body) == {"success": False, "error": text, "status": status, "code": code}
    assert json.loads(without_code(reply).body) == {"success": False, "error": text, "status": status}


def test_a_limit_that_is_used_up_has_an_answer_with_the_numbers_of_the_limit() -> None:
    limits = Decision(False, 5, 0, 41, 60, 0)
    reply = reply_to(TooManyRequests(limits))
    assert (reply.status, reply.limits) == (429, limits)
    assert json.loads(reply.body)["error"] == in_words("too_many_requests")


@pytest.mark.parametrize(
    ("refusal", "beside"),
    [
        (Refusal("voted_too_soon", retry_seconds=9, next_vote_ms=5), {"nextVoteAt": 5}),
        (Refusal("quarantined", reason="Spam.", until_ms=7), {"until": 7}),
        (Refusal("quarantined_without_end", reason="Spam.", until_ms=None), {"until": None}),
    ],
)
def test_some_answers_say_more_than_their_text(refusal: Refusal, beside: Mapping[str, Any]) -> None:
    body = json.loads(reply_to(refusal).body)
    assert {name: body[name] for name in body.keys() - {"success", "error", "status", "code"}} == beside


@pytest.mark.parametrize(
    ("refusal", "headers"),
    [
        (Refusal("voted_too_soon", retry_seconds=9, next_vote_ms=5), {"retry-after": "9"}),
        (Refusal("count_asked_for", retry_seconds=5), {"retry-after": "5"}),
        (Refusal("count_unknown"), {"retry-after": "3600"}),
        (Refusal("bug", number="9f2c4e6a8b0d1f35"), {}),
        (Refusal("cut_off"), {"retry-after": "5"}),
        (Refusal("operator_token_required"), {"www-authenticate": "Bearer"}),
        (Refusal("no_such_key"), {}),
    ],
)
def test_a_code_may_have_headers(refusal: Refusal, headers: Mapping[str, str]) -> None:
    assert reply_to(refusal).headers == headers


def test_a_refusal_keeps_the_headers_of_its_code_beside_those_of_a_limit() -> None:
    reply = limited(refused("cut_off"), Decision(True, 1, 1, 1, 1, 1))
    assert (reply.limits is not None, reply.headers) == (True, {"retry-after": "5"})
