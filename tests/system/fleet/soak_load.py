"""Load on a fleet: callers of all kinds, each at a random node, one after the other."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

from tests.support.gateways import BOT_SUBMISSION, Client
from tests.system.fleet.soak_record import Ballot, Bot, Edit, IssuedKey, Node, World

REGULARS = [str(3 * 10**17 + number) for number in range(60)]
"""Users who vote again and again, and at several nodes."""
KEYS_MOST = 12  # of a bot, open at once
LONGEST_PAUSE_SECONDS = 0.01
ASKED_WHILE_DOWN = 0.1
REVOTES = 0.5
"""The share of erased users who vote again."""


class _Accepting(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


class _Receiver(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """A node that was killed leaves connections that end in the middle."""


@contextmanager
def accepting() -> Iterator[str]:
    """The URL of a webhook receiver that accepts everything and keeps nothing."""
    server = _Receiver(("127.0.0.1", 0), _Accepting)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Actor:
    """One thread's worth of callers, at all nodes."""

    def __init__(self, world: World, seed: str) -> None:
        self._world = world
        self._random = random.Random(seed)
        self._client = Client()
        self._acts = {
            self._regular_votes: 40,
            self._newcomer_votes: 40,
            self._issue_key: 3,
            self._delete_key: 3,
            self._edit: 4,
            self._stats: 10,
            self._webhook: 1,
            self._remove: 1,
            self._short_lived_votes: 6,
            self._erase: 4,
            self._read: 20,
        }

    def run(self, stop: threading.Event) -> None:
        chance, acts, weights = self._random, list(self._acts), list(self._acts.values())
        while not stop.is_set():
            (act,) = chance.choices(acts, weights)
            node = chance.choice(self._world.nodes)
            if node.is_steady(node.life) or chance.random() < ASKED_WHILE_DOWN:
                act(node)
            time.sleep(chance.uniform(0, LONGEST_PAUSE_SECONDS))  # a visitor's pace; nothing is waited for
        self._client.session.close()

    def prepare(self) -> None:
        """The stable bots, at the first node."""
        first = self._world.nodes[0]
        for bot in self._world.stable:
            bot.keys.append(IssuedKey("", first.client.list_bot(bot.id)))
            first.client.done("PUT", f"/manage/bots/{bot.id}/webhook", {"url": self._world.webhook_url})

    def _call(
        self, node: Node, method: str, path: str, body: Any = None, key: str | None = None
    ) -> tuple[int, Any]:
        """The status and the body; 0 when no answer came."""
        findings, life, client = self._world.findings, node.life, self._client
        client.base_url, client.operator_token = node.client.base_url, node.client.operator_token
        try:
            answer = client.operate(method, path, body) if key is None else client.stats(key, body, path)
        except requests.RequestException as error:
            with self._world.lock:
                findings.unanswered += 1
                if node.is_steady(life):
                    findings.violations.append(f"{node.name} did not answer {method} {path}: {error!r}")
            return 0, None
        with self._world.lock:
            findings.answers[answer.status_code] += 1
            is_error = answer.status_code >= 500
            findings.errors += is_error
            if (is_error or answer.status_code == 400) and node.is_steady(life):
                findings.violations.append(f"{node.name}, {method} {path}: {answer.text}")
        return answer.status_code, answer.json()

    # -- votes -----------------------------------------------------------------------------------------

    def _regular_votes(self, node: Node) -> None:
        self._vote(node, self._random.choice(self._world.bots), self._random.choice(REGULARS))

    def _newcomer_votes(self, node: Node) -> None:
        self._vote(node, self._random.choice(self._world.bots), self._world.newcomer())

    def _vote(self, node: Node, bot: Bot, user: str) -> None:
        world, life, home = self._world, bot.life, bot.home
        status, body = self._call(node, "POST", f"/manage/bots/{bot.id}/votes", {"user": user})
        with world.lock:
            world.findings.acknowledged += status == 201
            world.findings.conflicts += status == 409
            if status == 201 and life == bot.life and home in {"", node.name}:
                ballot = bot.ballot(user)
                ballot.sure += 1
                ballot.last_ms = max(ballot.last_ms, body["lastVote"])
            elif status in {0, 201} or status >= 500:
                bot.ballot(user).maybe += 1

    def _short_lived_votes(self, node: Node) -> None:
        """A user who will be erased."""
        user = self._world.next_erased()
        for bot in self._random.sample(self._world.stable, 2):
            self._vote(self._random.choice([node, *self._world.nodes]), bot, user)
        self._world.erasable(user)

    def _erase(self, node: Node) -> None:
        world = self._world
        user = world.take_erasable(self._random)
        if user is None:
            return
        status, _ = self._call(node, "DELETE", f"/manage/users/{user}")
        with world.lock:
            for bot in world.stable:
                ballot = bot.ballots.get(user, Ballot())
                unsure = 0 if status == 200 else ballot.sure + ballot.maybe
                bot.ballots[user] = Ballot(maybe=unsure)
        if status == 200:
            world.findings.erased += 1
            if self._random.random() < REVOTES:  # where the erasure is known, so that it comes after it
                self._vote(node, self._random.choice(world.stable), user)

    def _read(self, node: Node) -> None:
        """A stranger reads pages. Most of them come from the memory of the node."""
        bot = self._random.choice(self._world.bots)
        path = self._random.choice(["/", "/bots", f"/bots/{bot.id}", f"/bots/{bot.id}.json", "/bots.rss"])
        findings, life, client = self._world.findings, node.life, self._client
        client.base_url = node.client.base_url
        try:
            status = client.request("GET", path).status_code
        except requests.RequestException as error:
            status, reason = 0, repr(error)
        else:
            reason = str(status)
        with self._world.lock:
            findings.pages += status == 200
            if status not in {200, 404} and node.is_steady(life):
                findings.violations.append(f"{node.name} did not answer GET {path}: {reason}")

    # -- listings --------------------------------------------------------------------------------------

    def _remove(self, node: Node) -> None:
        bot = self._random.choice(self._world.removed)
        if not bot.removing.acquire(blocking=False):
            return
        try:
            if self._is_removed(node, bot):
                self._submit(node, bot)
        finally:
            bot.removing.release()

    def _is_removed(self, node: Node, bot: Bot) -> bool:
        """Remove the bot. Return true if it can be submitted now."""
        world, home = self._world, bot.home
        with world.lock:
            bot.life, bot.home, keys = bot.life + 1, None, [*bot.keys]
        status, _ = self._call(node, "DELETE", f"/manage/bots/{bot.id}")
        with world.lock:
            if status == 404:
                bot.home = home
                return home is None
            for key in keys:
                key.opens = False if status == 200 else key.opens and None
            if status == 200:
                bot.ballots.clear()  # the removal is later than all of them, wherever they were cast
                world.findings.removed += 1
            for ballot in bot.ballots.values():
                ballot.sure, ballot.maybe = 0, ballot.sure + ballot.maybe
        return status == 200

    def _submit(self, node: Node, bot: Bot) -> None:
        created, _ = self._call(node, "POST", "/manage/bots", {**BOT_SUBMISSION, "id": bot.id})
        approved, _ = self._call(node, "POST", f"/manage/bots/{bot.id}/approve", {})
        if (created, approved) == (201, 200):
            with self._world.lock:
                bot.life, bot.home = bot.life + 1, node.name

    def _edit(self, node: Node) -> None:
        bot = self._random.choice(self._world.stable)
        text, began = f"Edited at node {node.name}: {self._random.getrandbits(60):020}", time.monotonic()
        edit = Edit(text, began, None)
        with self._world.lock:
            bot.edits.append(edit)
        profile = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}
        status, _ = self._call(node, "PUT", f"/manage/bots/{bot.id}", {**profile, "description": text})
        if status == 200:
            edit.ended = time.monotonic()

    def _webhook(self, node: Node) -> None:
        bot, world = self._random.choice(self._world.stable), self._world
        if self._random.random() < 0.5:
            self._call(node, "DELETE", f"/manage/bots/{bot.id}/webhook")
        else:
            self._call(node, "PUT", f"/manage/bots/{bot.id}/webhook", {"url": world.webhook_url})

    # -- keys ------------------------------------------------------------------------------------------

    def _issue_key(self, node: Node) -> None:
        world, bot = self._world, self._random.choice(self._world.bots)
        life, home = bot.life, bot.home
        if sum(key.opens is not False for key in bot.keys) >= KEYS_MOST:
            return
        status, body = self._call(node, "POST", f"/manage/bots/{bot.id}/keys", {"name": "soak"})
        if status == 201:
            with world.lock:
                is_sure = life == bot.life and home in {"", node.name}
                bot.keys.append(IssuedKey(body["id"], body["key"], True if is_sure else None))

    def _delete_key(self, node: Node) -> None:
        world, bot = self._world, self._random.choice(self._world.bots)
        with world.lock:
            keys = [key for key in bot.keys if key.opens and key.id]
            if not keys:
                return
            key = self._random.choice(keys)
            key.opens = None
        status, _ = self._call(node, "DELETE", f"/manage/bots/{bot.id}/keys/{key.id}")
        with world.lock:
            if status == 200:
                key.opens = False
            elif status == 404 and bot.home == "":  # not heard of there yet
                key.opens = True

    def _stats(self, node: Node) -> None:
        bot = self._random.choice(self._world.stable)
        key = bot.keys[0].secret
        counts = {
            "server_count": self._random.randint(950, 1_050),
            "command_count": self._random.randint(1, 99),
        }
        self._call(node, "PATCH", bot.id, counts, key)
