"""All votes in the order of the log, in pages and as a stream, for platforms that have their own site."""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests

from core.events import VoteCast
from gateway import api
from handlers.vote_feed import VoteFeed
from serving import application
from tests.support.contract import refusal, wrong_fields
from tests.support.gateways import (
    BOT,
    OPERATOR_TOKEN,
    OTHER_BOT,
    OTHER_USER,
    SERVER,
    USER,
    WAIT_SECONDS,
    ThreadGateway,
    eventually,
    running,
)
from tests.support.raw_http_client import OPERATOR, Caller, calling, request

FEED = "/manage/votes"
SERVER_PATH = f"/manage/servers/{SERVER}"
DAY_SECONDS = 24 * 60 * 60
HOURS = 24 * 60 * 60.0
FIRST_USER = 7 * 10**17
EVENTS = {"Authorization": f"Bearer {OPERATOR_TOKEN}", "Accept": "text/event-stream"}


def page(gateway: ThreadGateway, after: str | None = None, limit: int = 500) -> Any:
    query = f"?limit={limit}" + (f"&after={after}" if after is not None else "")
    return gateway.done("GET", FEED + query)


def all_from(gateway: ThreadGateway, after: str | None, limit: int = 500) -> tuple[list[Any], str]:
    """Every line from a cursor on, and the cursor behind them."""
    lines: list[Any] = []
    while True:
        found = page(gateway, after, limit)
        assert len(found["votes"]) <= limit
        lines += found["votes"]
        after = found["next"]
        if not found["more"]:
            return lines, str(after)


def vote_line(its_type: str, user: str, at: int, vote: int, kind: str = "bots", its_id: str = BOT) -> Any:
    return {"type": its_type, "kind": kind, "id": its_id, "user": user, "at": at, "vote": vote}


@contextlib.contextmanager
def stream(
    gateway: ThreadGateway, after: str | None = None, last_id: str | None = None
) -> Iterator[Iterator[tuple[str, Any]]]:
    """The events of a stream, each with its id."""
    headers = {**EVENTS, **({"Last-Event-ID": last_id} if last_id is not None else {})}
    path = FEED + (f"?after={after}" if after is not None else "")
    with requests.Session() as session:
        session.trust_env = False
        answer = session.get(gateway.base_url + path, headers=headers, stream=True, timeout=WAIT_SECONDS)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        with answer:
            yield events(answer)


def has_room(gateway: ThreadGateway) -> bool:
    """Return true if a stream can be opened."""
    with requests.Session() as session:
        session.trust_env = False
        url = f"{gateway.base_url}{FEED}?after=now"
        with session.get(url, headers=EVENTS, stream=True, timeout=WAIT_SECONDS) as answer:
            return answer.ok


def committed(gateway: ThreadGateway, users: Sequence[str]) -> None:
    """Vote without a request for each, and wait until all is durable."""
    ledger, now_ms = gateway.gateway.ledger, gateway.clock.now_ms()
    gateway.on_loop(lambda: [ledger.commit([VoteCast(f"bots/{BOT}", user, 1, now_ms)]) for user in users])
    gateway.done("PUT", f"/manage/bots/{BOT}/actual-server-count", {"server_count": 1})


def events(answer: requests.Response) -> Iterator[tuple[str, Any]]:
    fields: dict[str, str] = {}
    for line in answer.iter_lines(chunk_size=1, decode_unicode=True):
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
            continue
        if "data" in fields:
            yield fields["id"], json.loads(fields["data"])
        fields = {}


@pytest.fixture(autouse=True)
def listed(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.list_server()


def test_a_reader_gets_how_users_stand_and_then_each_vote(gateway: ThreadGateway) -> None:
    now_ms = gateway.clock.now_ms()
    gateway.cast()
    gateway.cast(OTHER_USER, SERVER_PATH)

    standing, cursor = all_from(gateway, None)

    assert standing == [
        vote_line("standing", USER, now_ms, 1),
        vote_line("standing", OTHER_USER, now_ms, 1, "servers", SERVER),
    ]
    assert all_from(gateway, cursor) == ([], cursor)

    gateway.advance(DAY_SECONDS)
    gateway.cast()
    gateway.cast(OTHER_USER)
    again_ms = gateway.clock.now_ms()

    assert all_from(gateway, cursor)[0] == [
        vote_line("vote", USER, again_ms, 2),
        vote_line("vote", OTHER_USER, again_ms, 1),
    ]


def test_a_cursor_goes_on_after_restarts_and_beside_other_changes(gateway: ThreadGateway) -> None:
    _, cursor = all_from(gateway, None)
    told: list[str] = []
    for number in range(4):
        gateway.cast(str(FIRST_USER + number))
        gateway.done("PUT", f"/manage/bots/{BOT}/actual-server-count", {"server_count": number})
        gateway.restart()
        lines, cursor = all_from(gateway, cursor)
        told += [line["user"] for line in lines]
        gateway.restart()
    assert told == [str(FIRST_USER + number) for number in range(4)]


def test_now_leaves_out_how_users_stand(gateway: ThreadGateway) -> None:
    gateway.cast()
    lines, cursor = all_from(gateway, "now")
    assert lines == []
    gateway.cast(OTHER_USER)
    assert [line["user"] for line in all_from(gateway, cursor)[0]] == [OTHER_USER]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1_000])
def test_pages_of_any_size_tell_each_standing_and_each_vote_once(gateway: ThreadGateway, limit: int) -> None:
    users = [str(FIRST_USER + number) for number in range(9)]
    for user in users:
        gateway.cast(user)
        gateway.cast(user, SERVER_PATH)
    first = page(gateway, None, limit)
    gateway.advance(DAY_SECONDS)
    for user in users:
        gateway.cast(user)

    rest, _ = all_from(gateway, first["next"], limit)

    lines = first["votes"] + rest
    votes = [line["user"] for line in lines if line["type"] == "vote"]
    assert votes == users
    standing = [(line["kind"], line["user"]) for line in lines if line["type"] == "standing"]
    assert standing == [(kind, user) for kind in ("bots", "servers") for user in users]


def test_a_test_of_a_webhook_is_no_vote(gateway: ThreadGateway) -> None:
    _, cursor = all_from(gateway, None)
    gateway.done("PUT", f"/manage/bots/{BOT}/webhook", {"url": "http://127.0.0.1:9/"})
    gateway.done("POST", f"/manage/bots/{BOT}/webhook/test", {"user": USER})
    assert all_from(gateway, cursor)[0] == []


def test_an_erasure_and_a_removal_are_lines_and_take_their_votes_along(gateway: ThreadGateway) -> None:
    _, cursor = all_from(gateway, None)
    gateway.cast()
    gateway.cast(OTHER_USER)
    gateway.cast(OTHER_USER, SERVER_PATH)
    gateway.done("DELETE", f"/manage/users/{USER}")
    gateway.done("DELETE", SERVER_PATH)

    lines, _ = all_from(gateway, cursor)

    now_ms = gateway.clock.now_ms()
    nothing = {"kind": None, "id": None, "user": None, "at": None, "vote": None}
    assert lines == [
        vote_line("vote", OTHER_USER, now_ms, 1),
        {**nothing, "type": "erased", "user": USER},
        {**nothing, "type": "removed", "kind": "servers", "id": SERVER},
    ]


def test_removed_votes_are_lines(gateway: ThreadGateway) -> None:
    gateway.cast()
    gateway.cast(OTHER_USER)
    _, cursor = all_from(gateway, None)
    gateway.done("POST", f"/manage/bots/{BOT}/votes/strike", {"users": [USER], "reason": "They were bought."})

    (line,) = all_from(gateway, cursor)[0]

    assert {name: value for name, value in line.items() if value is not None} == {
        **{"type": "struck", "kind": "bots", "id": BOT, "user": USER},
    }
    assert [line["user"] for line in all_from(gateway, None)[0]] == [OTHER_USER]


BAD = [
    *("", "x", "1", "1-0", "1-0-zzzzzzzz", "-1-0-00000000", "1-0-00000000-bots-1", "1-0-00000000-cats-1-1"),
    *("1-0-0000000", "１-0-00000000", "1-0-00000000\n", f"1-0-00000000-bots-{BOT}-{1 << 64}", "9" * 19),
]


@pytest.mark.parametrize("cursor", BAD)
def test_a_bad_cursor_is_400_and_names_the_field(gateway: ThreadGateway, cursor: str) -> None:
    query = requests.compat.urlencode({"after": cursor})
    assert wrong_fields(gateway.operate("GET", f"{FEED}?{query}")) == {"after"}
    streamed = gateway.request("GET", f"{FEED}?{query}", headers=EVENTS)
    assert wrong_fields(streamed) == {"after"}


def test_a_bad_last_event_id_is_400_and_names_the_header(gateway: ThreadGateway) -> None:
    answer = gateway.request("GET", FEED, headers={**EVENTS, "Last-Event-ID": "nonsense"})
    assert wrong_fields(answer) == {"Last-Event-ID"}


@pytest.mark.parametrize("limit", ["0", "1001", "-1", "x", "", "１", "99999999999999999999"])
def test_a_page_has_1_000_lines_at_most(gateway: ThreadGateway, limit: str) -> None:
    assert wrong_fields(gateway.operate("GET", f"{FEED}?limit={limit}")) == {"limit"}


def test_a_cursor_of_another_journal_is_410(gateway: ThreadGateway, tmp_path: Path) -> None:
    gateway.cast()
    _, cursor = all_from(gateway, None)
    position, told, proof = cursor.split("-")
    for wrong in (
        f"{int(position) + 1}-{told}-{proof}",
        f"{int(position) - 1}-{told}-{proof}",
        f"{position}-{told}-{int(proof, 16) ^ 1:08x}",
        f"0-0-{proof}",
    ):
        for headers in ({}, {"Accept": "text/event-stream"}):
            answer = gateway.request(
                "GET", f"{FEED}?after={wrong}", headers={**EVENTS, "Accept": "*/*", **headers}
            )
            status, error = refusal(answer)
            assert (status, "Begin again" in error) == (410, True), wrong
    with running(tmp_path / "other") as other:
        other.list_bot()
        other.list_server()
        other.cast()
        assert other.operate("GET", f"{FEED}?after={cursor}").status_code == 410


def snapshots(gateway: ThreadGateway, count: int) -> None:
    for number in range(count):
        gateway.cast(str(FIRST_USER + 1_000 + number))
        gateway.done("POST", "/debug/snapshot")


def test_a_cursor_from_before_the_journal_is_410_and_a_new_reader_has_everything(
    gateway: ThreadGateway,
) -> None:
    _, cursor = all_from(gateway, None)
    gateway.cast()
    snapshots(gateway, 3)

    assert gateway.operate("GET", f"{FEED}?after={cursor}").status_code == 410
    lines, cursor = all_from(gateway, None)
    assert {line["user"] for line in lines} == {USER, *(str(FIRST_USER + 1_000 + each) for each in range(3))}
    assert all_from(gateway, cursor)[0] == []


def test_a_reader_goes_on_while_the_journal_begins_new_files(tmp_path: Path) -> None:
    settings = {"journal.segment_bytes": 65_536, "journal.kept_bytes": 50_000_000}
    with running(tmp_path / "own", **settings) as gateway:
        gateway.list_bot()
        _, cursor = all_from(gateway, None)
        users = [str(FIRST_USER + number) for number in range(3_000)]
        told: list[str] = []
        for first in range(0, len(users), 300):
            committed(gateway, users[first : first + 300])
            lines, cursor = all_from(gateway, cursor, 50)
            told += [line["user"] for line in lines]
        assert told == users
        assert len(list((tmp_path / "own").glob("journal-*"))) > 3


def test_kept_bytes_keep_the_journal_for_readers_within_the_bound(tmp_path: Path) -> None:
    with running(tmp_path / "own", **{"journal.kept_bytes": 20_000}) as gateway:
        gateway.list_bot()
        _, cursor = all_from(gateway, None)
        snapshots(gateway, 5)
        gateway.restart()
        assert [line["user"] for line in all_from(gateway, cursor)[0]] == [
            str(FIRST_USER + 1_000 + number) for number in range(5)
        ]
        for _ in range(20):
            gateway.advance(DAY_SECONDS)
            snapshots(gateway, 5)
        assert gateway.operate("GET", f"{FEED}?after={cursor}").status_code == 410
        segments = sorted((tmp_path / "own").glob("journal-*"))
        assert sum(path.stat().st_size for path in segments[:-2]) <= 20_000
        assert len(segments) > 3


def test_a_stream_tells_what_there_is_and_what_comes(gateway: ThreadGateway) -> None:
    gateway.cast()
    with stream(gateway) as following:
        assert next(following)[1]["type"] == "standing"
        gateway.cast(OTHER_USER)
        its_id, line = next(following)
        assert line == vote_line("vote", OTHER_USER, gateway.clock.now_ms(), 1)
    gateway.cast(str(FIRST_USER))
    with stream(gateway, after="now", last_id=its_id) as following:
        assert next(following)[1]["user"] == str(FIRST_USER)
    with stream(gateway, after=its_id) as following:
        assert next(following)[1]["user"] == str(FIRST_USER)


def test_every_event_has_a_cursor_that_goes_on_behind_it(gateway: ThreadGateway) -> None:
    users = [str(FIRST_USER + number) for number in range(5)]
    for user in users:
        gateway.cast(user)
    with stream(gateway) as following:
        ids = [next(following)[0] for _ in users]
    for number, its_id in enumerate(ids, 1):
        assert [line["user"] for line in all_from(gateway, its_id)[0]] == users[number:]


def test_streams_are_bounded_and_end_with_the_gateway(tmp_path: Path) -> None:
    with running(tmp_path / "own", **{"votes.feed_streams": 2}) as gateway, contextlib.ExitStack() as open_:
        gateway.list_bot()
        gateway.cast()
        several = [open_.enter_context(stream(gateway)) for _ in range(2)]
        for each in several:
            assert next(each)[1]["user"] == USER
        refused = gateway.request("GET", FEED, headers=EVENTS)
        assert refusal(refused) == (503, "Not ready: too many streams of votes are open.")
        gateway.stop()
        for each in several:
            assert list(each) == []


def test_a_client_that_does_not_read_a_stream_is_cut_off_and_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(application, "STALLED_SECONDS", 0.2)
    with (
        running(tmp_path / "own", **{"votes.feed_streams": 1}) as gateway,
        calling(gateway.base_url, receive_bytes=4_096) as idle,
    ):
        gateway.list_bot()
        committed(gateway, [str(FIRST_USER + number) for number in range(40_000)])
        idle.send(request("GET", FEED, OPERATOR, "Accept: text/event-stream"))
        eventually(lambda: "an answer was cut off" in caplog.text)
        eventually(lambda: has_room(gateway))


@pytest.mark.parametrize("leave", [Caller.close, Caller.reset])
def test_a_stream_whose_client_is_gone_makes_room_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leave: Callable[[Caller], None]
) -> None:
    """Not only when a heartbeat cannot be sent: none is due while this test runs."""
    monkeypatch.setattr(api, "VoteFeed", partial(VoteFeed, heartbeat_seconds=HOURS))
    with (
        running(tmp_path / "own", **{"votes.feed_streams": 1}) as gateway,
        calling(gateway.base_url) as caller,
    ):
        caller.send(request("GET", f"{FEED}?after=now", OPERATOR, "Accept: text/event-stream"))
        received = b""
        while b": here" not in received:
            received += caller.socket.recv(4_096)
        assert not has_room(gateway)
        leave(caller)
        eventually(lambda: has_room(gateway))


def test_the_feed_knows_bots_beside_each_other(gateway: ThreadGateway) -> None:
    gateway.list_bot(OTHER_BOT)
    gateway.cast(path=f"/manage/bots/{OTHER_BOT}")
    gateway.cast()
    assert [line["id"] for line in all_from(gateway, None)[0]] == [BOT, OTHER_BOT]
