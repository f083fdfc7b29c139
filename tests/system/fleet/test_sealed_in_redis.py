"""A reader of Redis learns names of nodes, sizes and times, and nothing about listings, users or keys."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinds.bots import BOTS
from listings.keys import KeyDigester
from replication.facts import VoteFact
from replication.publisher import Entry
from replication.redis_link import Envelopes
from storage.folder import DIGEST_SECRET, KEYS, kept_keys
from tests.support.fleet_processes import fleet_of
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OPERATOR_TOKEN,
    OTHER_BOT,
    OTHER_USER,
    OWNER,
    USER,
    eventually,
)
from tests.support.redis_server import RedisServer

BOT_PATH = f"/manage/bots/{BOT}"
ERASED = "777777777777777777"
TOKEN, URL, NAME, REASON = "token-of-the-owner", "https://example.com/hook", "Test bot", "a reason to deny"
WRITTEN = "appendonly.aof*"
"""The files to which Redis appends each command that changes something; Redis 7 has several, in a folder."""


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder, "--appendonly", "yes", "--auto-aof-rewrite-percentage", "0")
    try:
        yield server.start()
    finally:
        server.close()


def forms_of(text: str) -> set[bytes]:
    """Return the forms in which a text might be written without encryption."""
    raw = text.encode()
    forms = {raw, raw.hex().encode(), text.encode("utf-16-le")}
    forms |= {base64.b64encode(raw).rstrip(b"=")[:-1]}
    if text.isdigit():
        forms |= {int(text).to_bytes(8, order) for order in ("little", "big")}
    return forms


def found(needles: dict[str, str], hay: bytes) -> set[str]:
    """Names of the texts that can be read there, in whatever form."""
    return {name for name, text in needles.items() if any(form in hay for form in forms_of(text))}


def written(server: RedisServer) -> bytes:
    """Return every command that has changed anything, whatever has become of it since."""
    files = [path for path in server.folder.rglob(WRITTEN) if path.is_file()]
    assert files
    return b"".join(path.read_bytes() for path in files)


def content_of(server: RedisServer) -> bytes:
    """All keys with their values."""
    content = b""
    with server.client() as client:
        for key in client.scan_iter():
            content += key + b"\n" + (client.dump(key) or b"") + b"\n"
    return content


def test_nothing_of_what_nodes_tell_each_other_can_be_read_in_redis(
    tmp_path: Path, recording: RedisServer
) -> None:
    with fleet_of(tmp_path, recording.url) as fleet:
        rome, oslo = fleet.edge("rome"), fleet.edge("oslo")
        key = rome.list_bot()
        rome.done("PUT", f"{BOT_PATH}/webhook", {"url": URL, "token": TOKEN})
        secret = rome.done("POST", f"{BOT_PATH}/webhook/secret/rotate", {})["secret"]
        fleet.converge(rome, oslo)
        rome.cast(USER)
        oslo.cast(OTHER_USER)
        oslo.cast(ERASED)
        assert oslo.voters(key, user=USER).status_code == 200
        assert rome.stats(key, {"server_count": 1_001}).status_code == 200
        fleet.converge(rome, oslo)
        rome.done("DELETE", f"/manage/users/{ERASED}")
        rome.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": OTHER_BOT})
        fleet.converge(rome, oslo)
        oslo.done("POST", f"/manage/bots/{OTHER_BOT}/deny", {"reason": REASON})
        with recording.client() as client:
            client.xtrim("votegate:stream:rome", maxlen=1, approximate=False)
            late = fleet.edge("bern")  # needs a copy
            fleet.converge(rome, oslo, late)
            eventually(lambda: client.exists("votegate:uses"))
        digest_secret, sealing_keys = ((rome.folder / name).read_text() for name in (DIGEST_SECRET, KEYS))
        hay = content_of(recording) + written(recording)

    hidden = {
        "user": USER,
        "other user": OTHER_USER,
        "erased user": ERASED,
        "bot": BOT,
        "owner": OWNER,
        "name": NAME,
        "reason": REASON,
        "webhook's address": URL,
        "its host": "example.com",
        "its token": TOKEN,
        "its secret": secret.removeprefix("whsec_"),
        "key": key,
        "key's digest": KeyDigester(digest_secret.encode()).digest(key),
        "digest secret": digest_secret.strip(),
        "operator's token": OPERATOR_TOKEN,
        "sealing keys": sealing_keys.strip(),
    }
    assert found(hidden, hay) == set()
    shown = {"node": "rome", "new node": "bern", "command": "XADD", "copy": "votegate:copy:bern:"}
    assert found({**shown, "uses": "votegate:uses"}, hay) == {*shown, "uses"}


def test_the_search_finds_what_is_not_sealed(tmp_path: Path, recording: RedisServer) -> None:
    hidden = {"user": USER, "bot": BOT}
    seals = Envelopes(kept_keys(tmp_path, needed=False))
    entry = Entry(0, b"proof", [VoteFact(BOTS.prefix + BOT, USER, 1, 1)])
    with recording.client() as client:
        client.xadd("stream", {"e": seals.seal(entry, "stream/1-1")}, id="1-1")
        assert found(hidden, content_of(recording)) == set()
        assert seals.open(client.xrange("stream")[0][1][b"e"], "stream/1-1", Entry) == entry
        client.set(f"vote:{USER}", int(BOT).to_bytes(8, "big"))
    assert found(hidden, content_of(recording)) == {"user", "bot"}
