"""Bad input of every kind gets a clear error in the common shape, and changes nothing."""

import gzip
import json
import re
from typing import Any

import pytest

from tests.support.contract import (
    INVALID_KEY,
    MALFORMED_IDS,
    Served,
    clear_error,
    filled,
    refusal,
    wrong_fields,
)
from tests.support.gateways import BOT, BOT_SUBMISSION, OTHER_BOT, SERVER, SERVER_SUBMISSION, USER
from tests.support.openapi_lookup import DOCUMENT

STATS, USER_PATH = f"/bots/{BOT}/stats", f"/manage/users/{USER}"
BOT_PATH, SERVER_PATH = f"/manage/bots/{BOT}", f"/manage/servers/{SERVER}"
POLICY = {"requests": 1, "window_seconds": 1}
BOT_EDIT = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}
SERVER_EDIT = {name: value for name, value in SERVER_SUBMISSION.items() if name != "id"}
OPTIONAL: dict[str, Any] = {
    **dict.fromkeys(("support_invite", "website", "source", "privacy")),
    "tags": [],
    "commands": [],
}
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("PATCH", STATS): {"server_count": 1_000, "command_count": 5},
    ("POST", "/manage/bots"): {**BOT_SUBMISSION, "id": OTHER_BOT, **OPTIONAL, "extra_owners": []},
    ("PUT", BOT_PATH): {**BOT_EDIT, **OPTIONAL},
    ("PUT", f"{BOT_PATH}/extra-owners/{USER}"): {},
    ("POST", f"{BOT_PATH}/extra-owners/{USER}/accept"): {},
    ("PUT", f"{BOT_PATH}/hand-over"): {"heir": USER},
    ("POST", f"{BOT_PATH}/hand-over/accept"): {"heir": USER},
    ("POST", f"{BOT_PATH}/approve"): {},
    ("POST", f"{BOT_PATH}/deny"): {"reason": "Offline"},
    ("POST", f"{BOT_PATH}/keys"): {"name": "second"},
    ("POST", f"{BOT_PATH}/keys/none/rotate"): {"overlap_seconds": 5},
    ("PUT", f"{BOT_PATH}/actual-server-count"): {"server_count": 5},
    ("PUT", f"{BOT_PATH}/limits"): {"stats": POLICY, "voters": POLICY},
    ("POST", "/manage/servers"): {**SERVER_SUBMISSION, "id": OTHER_BOT, "invite": None},
    ("PUT", SERVER_PATH): {**SERVER_EDIT, "invite": None},
    ("PUT", f"{SERVER_PATH}/webhook"): {"url": "http://127.0.0.1:9/", "token": "t", "language": None},
    ("POST", f"{SERVER_PATH}/webhook/secret/rotate"): {"overlap_seconds": 5},
    ("POST", f"{SERVER_PATH}/webhook/test"): {"user": USER},
    ("POST", f"{SERVER_PATH}/webhook/deliveries/redeliver"): {"failed_since": 0},
    ("POST", f"{SERVER_PATH}/webhook/deliveries/none/redeliver"): {},
    ("POST", f"{SERVER_PATH}/votes"): {"user": USER},
    ("POST", f"{SERVER_PATH}/votes/check"): {"users": [USER]},
    ("PUT", f"{USER_PATH}/moderator"): {},
    ("PUT", f"{USER_PATH}/quarantines/vote"): {"reason": "Bought votes", "until": None},
}
"""Calls that read a body, each with every field it knows."""

FIELDS = [
    (method, path, field)
    for (method, path), body in BODIES.items()
    for field in body
    if path.startswith("/manage/")
]
WRONG = [True, 1.5, "\x00", "\x9f" * 40, [[]], {"a": 1}]

UNREADABLE = "The body must be valid JSON in UTF-8."
TWICE = "The body must not name a field twice."
NO_OBJECT = "The body must be a JSON object."
BROKEN: dict[str, tuple[bytes, str]] = {
    "text": (b"hello", UNREADABLE),
    "cut off": (b'{"name": "x"', UNREADABLE),
    "trailing comma": (b'{"name": "x",}', UNREADABLE),
    "single quotes": (b"{'name': 'x'}", UNREADABLE),
    "comment": (b'{"name": "x"} // y', UNREADABLE),
    "two objects": (b"{}{}", UNREADABLE),
    "blank": (b"  ", UNREADABLE),
    "list": (b"[]", NO_OBJECT),
    "string": (b'"name"', NO_OBJECT),
    "number": (b"5", NO_OBJECT),
    "null": (b"null", NO_OBJECT),
    "duplicate key": (b'{"user": "1", "user": "1"}', TWICE),
    "duplicate key below": (b'{"stats": {"requests": 1, "requests": 1}}', TWICE),
    "duplicate key by escape": (b'{"user": "1", "\\u0075ser": "1"}', TWICE),
    "NaN": (b'{"server_count": NaN}', UNREADABLE),
    "Infinity": (b'{"server_count": Infinity}', UNREADABLE),
    "-Infinity": (b'{"server_count": -Infinity}', UNREADABLE),
    "5000 digits": (b'{"server_count": ' + b"9" * 5_000 + b"}", UNREADABLE),
    "leading zero": (b'{"server_count": 01}', UNREADABLE),
    "open brackets": (b"[" * 30_000, UNREADABLE),
    "nested lists": (b"[" * 15_000 + b"]" * 15_000, UNREADABLE),
    "nested lists in a field": (b'{"name": ' + b"[" * 15_000 + b"]" * 15_000 + b"}", UNREADABLE),
    "nested objects": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, UNREADABLE),
    "invalid UTF-8": (b'{"name": "\xff"}', UNREADABLE),
    "overlong UTF-8": (b'{"name": "\xc0\xaf"}', UNREADABLE),
    "surrogate in UTF-8": (b'{"name": "\xed\xa0\x80"}', UNREADABLE),
    "lone surrogate": (b'{"name": "\\ud800"}', UNREADABLE),
    "lone low surrogate": (b'{"server_count": ["\\udc00"]}', UNREADABLE),
    "lone surrogate as a name": (b'{"\\ud800": 1}', UNREADABLE),
    "UTF-16": ('{"name": "x"}'.encode("utf-16"), UNREADABLE),
    "byte order mark": (b'\xef\xbb\xbf{"name": "x"}', UNREADABLE),
    "raw NUL": (b'{"name": "\x00"}', UNREADABLE),
    "raw line feed": (b'{"name": "a\nb"}', UNREADABLE),
    "gzip": (gzip.compress(b'{"name": "x"}'), UNREADABLE),
    "form": (b"server_count=5", UNREADABLE),
}
EXTREME: dict[str, bytes] = {
    "1e400": b'{"server_count": 1e400}',
    "4000 digits": b'{"server_count": ' + b"9" * 4_000 + b"}",
    "many decimals": b'{"server_count": 1.' + b"0" * 4_000 + b"1e-3}",
    "nested below the limit": b'{"name":"\\u0041","server_count":' + b"[" * 900 + b"]" * 900 + b"}",
    "many fields": b"{" + b",".join(b'"%d":0' % number for number in range(5_000)) + b"}",
}

SPOILT_IDS = {
    **MALFORMED_IDS,
    "slash": "1%2F2",
    "dots": "..%2F..%2Fmanage",
    "NUL": BOT + "%00",
    "line feed": BOT + "%0A",
    "invalid UTF-8": "%FF",
    "surrogate": "%ED%A0%80",
    "no escape": "%zz",
    "full-width escape": "%EF%BC%91" * 18,
    "very long": "1" * 5_000,
}
ROUTES: dict[str, list[str]] = {
    path: [name.upper() for name in item if name in {"get", "post", "put", "patch", "delete"}]
    for path, item in DOCUMENT["paths"].items()
}
PLACES = [(path, name) for path in ROUTES for name in re.findall(r"{(\w+)}", path)]
USERS_AND_ACTS = [
    *((path, "id") for path in ROUTES if "/users/{id}" in path),
    ("/manage/users/{id}/quarantines/{act}", "act"),
    ("/bots/{id}/voters/{user_id}", "user_id"),
    *((path, "user_id") for path in ROUTES if "/extra-owners/{user_id}" in path),
    *((path, "user_id") for path in ROUTES if "/likes/{user_id}" in path),
    *((path, "user_id") for path in ROUTES if "/ratings/{user_id}" in path),
]
TOO_LARGE = (413, "The body must not be larger than 65536 bytes.")


@pytest.mark.parametrize(("method", "path"), BODIES)
def test_a_body_that_is_no_clear_json_object_is_400(served: Served, method: str, path: str) -> None:
    refused = {name: refusal(served.send(method, path, body)) for name, (body, _) in BROKEN.items()}

    assert refused == {name: (400, text) for name, (_, text) in BROKEN.items()}


@pytest.mark.parametrize(("method", "path"), BODIES)
def test_an_object_of_extremes_is_400(served: Served, method: str, path: str) -> None:
    statuses = {name: clear_error(served.send(method, path, body)) for name, body in EXTREME.items()}

    assert statuses == dict.fromkeys(EXTREME, 400)


@pytest.mark.parametrize(("method", "path", "field"), FIELDS)
def test_a_field_of_a_wrong_type_is_400_and_named(served: Served, method: str, path: str, field: str) -> None:
    bodies = {repr(wrong): json.dumps(BODIES[method, path] | {field: wrong}).encode() for wrong in WRONG}

    named = {wrong: wrong_fields(served.send(method, path, body)) for wrong, body in bodies.items()}

    assert named == {wrong: {field} for wrong in bodies}


@pytest.mark.parametrize(("method", "path"), [call for call in BODIES if call[1].startswith("/manage/")])
def test_an_unknown_field_of_management_is_400_and_named(served: Served, method: str, path: str) -> None:
    body = BODIES[method, path] | {"surprise": 1}

    assert wrong_fields(served.send(method, path, json.dumps(body).encode())) == {"surprise"}


@pytest.mark.parametrize("chunked", [False, True], ids=["content-length", "chunked"])
@pytest.mark.parametrize("size", [65_537, 1_000_000])
@pytest.mark.parametrize(("method", "path"), BODIES)
def test_a_body_over_64_kib_is_413(served: Served, method: str, path: str, size: int, chunked: bool) -> None:
    body = b"{".ljust(size - 1) + b"}"

    response = served.send(method, path, iter([body]) if chunked else body)

    assert refusal(response) == TOO_LARGE


@pytest.mark.parametrize(
    ("header", "body"),
    [
        (b"Content-Length: 10000000000", b"{"),
        (b"Content-Length: 5000000", b" " * 5_000_000),
        (b"Transfer-Encoding: chunked", (b"10000\r\n" + b" " * 65_536 + b"\r\n") * 80 + b"0\r\n\r\n"),
    ],
    ids=["announced", "content-length", "chunked"],
)
@pytest.mark.parametrize(("method", "path"), [("PATCH", STATS), ("POST", "/manage/bots")])
def test_a_body_of_megabytes_is_413_before_all_of_it_was_read(
    served: Served, method: str, path: str, header: bytes, body: bytes
) -> None:
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {served.token(path)}\r\n".encode()

    answer = served.gateway.raw(head + header + b"\r\n\r\n" + body)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {
        "success": False,
        "error": TOO_LARGE[1],
        "status": 413,
        **({"code": "body_too_large"} if path.startswith("/manage/") else {}),
    }


@pytest.mark.parametrize("key", [b"\xff\xfe", "vg_é".encode(), b"vg_" + b"\x80" * 43, b"\xed\xa0\x80"])
@pytest.mark.parametrize(("method", "path"), [("PATCH", STATS), ("GET", f"/bots/{BOT}/voters/{USER}")])
def test_a_key_with_bytes_beyond_ascii_is_401(served: Served, method: str, path: str, key: bytes) -> None:
    response = served.gateway.request(method, path, headers={"Authorization": key})

    assert refusal(response) == INVALID_KEY


@pytest.mark.parametrize(("template", "name"), PLACES)
def test_a_malformed_id_in_a_path_is_404_or_for_a_user_or_an_act_400(
    served: Served, template: str, name: str
) -> None:
    calls = [(method, kind) for method in ROUTES[template] for kind in SPOILT_IDS]

    statuses = {
        (method, kind): clear_error(served.send(method, filled(template, **{name: SPOILT_IDS[kind]})))
        for method, kind in calls
    }

    assert statuses == dict.fromkeys(calls, 400 if (template, name) in USERS_AND_ACTS else 404)
