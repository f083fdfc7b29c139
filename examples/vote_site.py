"""The least that a site of your own needs: it follows all votes, keeps them, and shows who leads.

GATEWAY=http://127.0.0.1:8080 OPERATOR_TOKEN=... python3 examples/vote_site.py [port] [database]

GET / is a page, and GET /top.json the same for programs. See docs/feed.md.
"""

import html
import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

GATEWAY = urlsplit(os.environ.get("GATEWAY", "http://127.0.0.1:8080"))
TOKEN = os.environ.get("OPERATOR_TOKEN", "")
PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 9001
DATABASE = sys.argv[2] if len(sys.argv) > 2 else "votes.sqlite"
SILENCE_SECONDS = 60  # the gateway says something every 15 seconds, even if nobody votes
PAUSE_SECONDS = 1.0

TABLES = """
CREATE TABLE IF NOT EXISTS votes (
    kind TEXT, id TEXT, user TEXT, vote INTEGER, at INTEGER, PRIMARY KEY (kind, id, user)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS place (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), cursor TEXT);
"""
TOP = "SELECT kind, id, sum(vote), count(*) FROM votes GROUP BY kind, id ORDER BY 3 DESC, 1, 2 LIMIT 20"


class Lost(Exception):
    """The gateway no longer knows our cursor."""


def opened() -> sqlite3.Connection:
    database = sqlite3.connect(DATABASE, timeout=30)
    database.executescript(TABLES)
    return database


def take(database: sqlite3.Connection, line: dict[str, Any]) -> None:
    """Store a line. It states a fact, so a line that comes twice changes nothing."""
    listing = (line["kind"], line["id"])
    match line["type"]:
        case "vote" | "standing":
            row = (*listing, line["user"], line["vote"], line["at"])
            database.execute("INSERT OR REPLACE INTO votes VALUES (?, ?, ?, ?, ?)", row)
        case "struck":
            database.execute(
                "DELETE FROM votes WHERE kind = ? AND id = ? AND user = ?", (*listing, line["user"])
            )
        case "erased":
            database.execute("DELETE FROM votes WHERE user = ?", (line["user"],))
        case "removed":
            database.execute("DELETE FROM votes WHERE kind = ? AND id = ?", listing)


def events(answer: HTTPResponse) -> Iterator[dict[str, str]]:
    """The server-sent events of an answer, as their fields. One without `data` says only where we are."""
    fields: dict[str, str] = {}
    while text := answer.readline().decode():
        name, _, value = text.rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        elif fields:
            yield fields
            fields = {}


def follow(database: sqlite3.Connection) -> None:
    """Read until the stream ends. Raises Lost."""
    (cursor,) = database.execute("SELECT cursor FROM place").fetchone() or (None,)
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "text/event-stream"}
    if cursor is not None:
        headers["Last-Event-ID"] = cursor
    kind = HTTPSConnection if GATEWAY.scheme == "https" else HTTPConnection
    connection = kind(GATEWAY.netloc, timeout=SILENCE_SECONDS)
    try:
        connection.request("GET", "/manage/votes", headers=headers)
        answer = connection.getresponse()
        if answer.status == 410:
            raise Lost
        if answer.status != 200:
            raise HTTPException(f"{answer.status}: {answer.read(1_000).decode(errors='replace')}")
        for event in events(answer):
            if event.get("event") == "lost":
                raise Lost
            with database:  # the line and the cursor are stored together, or neither is
                if "data" in event:
                    take(database, json.loads(event["data"]))
                database.execute("INSERT OR REPLACE INTO place VALUES (1, ?)", (event["id"],))
    finally:
        connection.close()


def follow_for_ever() -> None:
    database = opened()
    while True:
        try:
            follow(database)
        except Lost:
            with database:  # begin again: without a cursor the gateway tells everything
                database.execute("DELETE FROM votes")
                database.execute("DELETE FROM place")
        except (OSError, HTTPException) as error:
            sys.stderr.write(f"the gateway is away: {error}\n")
        time.sleep(PAUSE_SECONDS)


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path not in {"/", "/top.json"}:
            self.send_error(404)
            return
        database = sqlite3.connect(DATABASE, timeout=30)
        try:
            rows = [
                dict(zip(("kind", "id", "votes", "voters"), row, strict=True))
                for row in database.execute(TOP)
            ]
        finally:
            database.close()
        is_page = self.path == "/"
        body = (page(rows) if is_page else json.dumps({"top": rows})).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8" if is_page else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def page(rows: list[dict[str, Any]]) -> str:
    cells = "".join(
        f"<tr><td>{html.escape(row['kind'])} {html.escape(row['id'])}<td>{row['votes']}<td>{row['voters']}"
        for row in rows
    )
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Who leads</title><h1>Who leads</h1>'
    return f"{head}<table><tr><th>Listing<th>Votes<th>Voters{cells}</table>"


if __name__ == "__main__":
    opened().close()
    threading.Thread(target=follow_for_ever, daemon=True).start()
    ThreadingHTTPServer(("127.0.0.1", PORT), Site).serve_forever()
