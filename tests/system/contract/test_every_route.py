"""Properties of every route of the application."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from requests import Response
from tornado.web import Application

from handlers.route import Resource
from handlers.routes import DOCUMENTS
from metrics.collectors import PLAIN
from operators.operator_pages import ALL_ROUTES as ROWS
from serving.application import ApplicationPolicy, make_application
from tests.support.contract import STATS, Served, filled, limit, refusal
from tests.support.gateways import BOT, USER, running
from tests.support.openapi_lookup import DOCUMENT

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
ROUTES: dict[str, list[str]] = {
    path: [method for method in METHODS if method.lower() in item] for path, item in DOCUMENT["paths"].items()
}
OPERATIONS = [(method, path) for path, methods in ROUTES.items() for method in methods]
GUARDED = [
    (method, path) for method, path in OPERATIONS if path.startswith(("/manage/", "/debug/", "/metrics"))
]
READABLE = [path for path, methods in ROUTES.items() if "GET" in methods]
UNSUPPORTED = {
    path: [method for method in [*METHODS, "TRACE", "CONNECT", "QUERY"] if method not in methods]
    for path, methods in ROUTES.items()
}
VOTERS = f"/bots/{BOT}/voters/{USER}"
STREAMED = "/debug/snapshot"
CONTENT_TYPES = {
    "/metrics": PLAIN,
    **dict.fromkeys((each.path for each in DOCUMENTS), "text/html; charset=utf-8"),
    STREAMED: "application/octet-stream",
}


def test_the_operator_alone_may_call_management_and_debug() -> None:
    assert {(row.method, row.path) for row in ROWS if row.access == "operator"} == set(GUARDED)


KEPT = "public, max-age=10, stale-while-revalidate=60"
OF_CACHES = dict.fromkeys(("/openapi.json", *(each.path for each in DOCUMENTS)), KEPT)
"""The header of the successes that caches may keep."""


def common_headers(response: Response, caches: str = "no-store") -> bool:
    """Return true if an answer has the headers that every answer must have."""
    headers = response.headers
    return len(headers["x-request-id"]) >= 16 and headers["cache-control"] == caches


def allowed(response: Response) -> set[str]:
    return set(response.headers["allow"].split(", "))


def methods_of(path: str) -> set[str]:
    """Return the methods that OPTIONS should list."""
    return {*ROUTES[path], "OPTIONS", *(["HEAD"] if "GET" in ROUTES[path] else [])}


def alternatives(path: str) -> str:
    """Return the methods of a path without HEAD and OPTIONS, as text."""
    *others, last = ROUTES[path]
    return f"{', '.join(others)} or {last}" if others else last


def test_the_walk_misses_no_route_of_a_running_gateway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: dict[str, list[str]] = {}

    def making(resources: Sequence[Resource], policy: ApplicationPolicy) -> Application:
        served.update({each.path: [name for name in METHODS if name in each.endpoints] for each in resources})
        return make_application(resources, policy)

    monkeypatch.setattr("gateway.serve.make_application", making)
    with running(tmp_path / "data", **{"debug.pages": False}):  # tests/web walks over the pages
        assert served == {**ROUTES, "/files/{name}": ["GET"]}  # it is a page, where there are pages


@pytest.mark.parametrize(("method", "path"), GUARDED)
def test_without_the_operator_token_management_and_debug_are_401(
    served: Served, method: str, path: str
) -> None:
    missing = served.gateway.request(method, filled(path))
    wrong = served.gateway.request(method, filled(path), headers={"Authorization": f"Bearer {served.key}"})

    assert refusal(missing) == (401, "The operator token is required.")
    assert refusal(wrong) == (401, "Invalid operator token.")
    assert common_headers(missing)
    assert missing.headers["www-authenticate"] == wrong.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ROUTES)
def test_an_unsupported_method_is_405_and_its_text_names_the_right_ones(served: Served, path: str) -> None:
    responses = {method: served.send(method, filled(path)) for method in UNSUPPORTED[path]}

    refused = (405, f"Method not allowed. Use {alternatives(path)}.")
    for method, response in responses.items():
        assert refusal(response) == refused, method
        assert allowed(response) == methods_of(path), method
        assert common_headers(response), method


@pytest.mark.parametrize("path", ROUTES)
def test_options_is_204_and_tells_what_is_allowed(served: Served, path: str) -> None:
    response = served.gateway.request("OPTIONS", filled(path))

    assert (response.status_code, response.content) == (204, b"")
    assert allowed(response) == methods_of(path)
    assert common_headers(response)


@pytest.mark.parametrize("path", READABLE)
def test_a_get_is_answered_in_its_content_type_with_the_common_headers(served: Served, path: str) -> None:
    response = served.send("GET", filled(path))

    assert response.status_code == 200
    assert common_headers(response, OF_CACHES.get(path, "no-store"))
    assert response.headers["content-type"] == CONTENT_TYPES.get(path, "application/json")


@pytest.mark.parametrize("path", READABLE)
def test_a_head_is_answered_like_a_get_without_the_body(served: Served, path: str) -> None:
    response = served.send("HEAD", filled(path))

    assert (response.status_code, response.content) == (200, b"")
    if path == STREAMED:  # its length is not known before its end
        assert "content-length" not in response.headers
    else:
        assert int(response.headers["content-length"]) > 0
    assert common_headers(response, OF_CACHES.get(path, "no-store"))


def test_every_answer_has_a_request_id_of_its_own(served: Served) -> None:
    ids = {served.gateway.request("GET", "/healthz").headers["x-request-id"] for _ in range(10)}

    assert len(ids) == 10


@pytest.mark.parametrize("path", ["/nothing", "/manage/nothing", f"/bots/{BOT}"])
def test_an_unknown_route_has_the_common_headers(served: Served, path: str) -> None:
    assert common_headers(served.send("GET", path))


@pytest.mark.parametrize("path", [STATS, VOTERS])
@pytest.mark.parametrize("method", [*METHODS, "HEAD", "OPTIONS"])
def test_one_trailing_slash_is_answered_like_the_path_without_it(
    served: Served, method: str, path: str
) -> None:
    plain, slashed = (served.send(method, each) for each in (path, f"{path}/"))

    assert slashed.status_code == plain.status_code != 404
    assert slashed.content == plain.content
    assert limit(slashed).limit == limit(plain).limit
    for name in ("allow", "content-type"):
        assert slashed.headers.get(name) == plain.headers.get(name)


@pytest.mark.parametrize("query", ["", "?a=b/"])
def test_a_vote_check_with_a_trailing_slash_is_counted_like_any_other(served: Served, query: str) -> None:
    left = [limit(served.send("GET", f"{VOTERS}{slash}{query}")).remaining for slash in ("", "/", "/", "")]

    assert left == list(range(left[0], left[0] - 4, -1))


@pytest.mark.parametrize(
    "path", [f"{STATS}//", f"{VOTERS}//", f"{VOTERS}/x", f"/bots/{BOT}/voters/", "/healthz/", "/manage/bots/"]
)
@pytest.mark.parametrize("method", ["GET", "PATCH", "OPTIONS"])
def test_two_slashes_and_slashes_elsewhere_are_404(served: Served, method: str, path: str) -> None:
    assert refusal(served.send(method, path)) == (404, "Not found.")
