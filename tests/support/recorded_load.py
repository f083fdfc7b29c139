"""Load on a gateway, and an outside record of the changes that it acknowledged. None of them may get lost.

Each client makes its changes one after the other, on a part of the state that nobody else changes. So after a
kill the gateway must have the state after the first n changes of each client: n is the number acknowledged,
or one more if another was in flight. Any other state has lost a change, has a gap, or has a change that
nobody made.
"""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from kinds.kind import Kind
from kinds.registry import KINDS
from tests.support.contract import sample_submission
from tests.support.gateways import BOT_SUBMISSION, OPERATOR_TOKEN, Client

VOTED_BOT = "100000000000000000"
USERS_PER_CALL = 1_000
CHANGES_OF_A_KIND = 4
"""The changes of a `Lister` to a listing of one kind."""
SETTINGS = {"limits.stats.requests": 1_000_000}
"""The settings of the gateway that the load needs."""
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


class Gone(Exception):
    """The gateway ended before it had answered."""


class Lost(Exception):
    """The gateway has another state than it acknowledged. At least `count` changes are missing."""

    def __init__(self, message: str, count: int) -> None:
        super().__init__(message)
        self.count = count


class Answer(NamedTuple):
    status: int
    body: Any


class Connection:
    """A client for HTTP/1.1 over one socket that stays open.

    It has the operator token if a call names no other.
    """

    def __init__(self, base_url: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.base_url = base_url
        self._reader = reader
        self._writer = writer

    async def call(self, method: str, path: str, body: Any = None, authorization: str = "") -> Answer:
        """Raises Gone."""
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: gateway\r\nContent-Length: {len(content)}\r\n"
            f"Authorization: {authorization or f'Bearer {OPERATOR_TOKEN}'}\r\n\r\n"
        )
        try:
            self._writer.write(head.encode() + content)
            answer = await self._reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(answer)
            assert length is not None, answer
            received = await self._reader.readexactly(int(length[1]))
        except (OSError, asyncio.IncompleteReadError):
            raise Gone from None
        return Answer(int(answer[9:12]), json.loads(received))

    async def done(self, method: str, path: str, body: Any = None, authorization: str = "") -> Any:
        """Return the body of a call that must succeed. Raises Gone."""
        status, answer = await self.call(method, path, body, authorization)
        assert status in {200, 201}, f"{method} {path}: {status} {answer}"
        return answer


@asynccontextmanager
async def connected(base_url: str) -> AsyncIterator[Connection]:
    """Open a connection. Raises Gone if nobody listens any more."""
    host, port = base_url.removeprefix("http://").split(":")
    try:
        reader, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        raise Gone from None
    try:
        yield Connection(base_url, reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


class Load(Protocol):
    """One client. It has sent `sent` changes; the gateway has acknowledged `acknowledged` of them."""

    acknowledged: int
    sent: int

    async def prepare(self, connection: Connection) -> None:
        """Create on an empty gateway what the changes need."""

    async def change(self, connection: Connection, number: int) -> None:
        """Make the change of that number; the first is 1."""

    async def recovered(self, connection: Connection) -> int:
        """Return the number of changes that the gateway holds. Raises Lost."""


class Voter:
    """Casts votes for one bot. The ids of its users count up, so that a gap shows."""

    def __init__(self, number: int) -> None:
        self.acknowledged = self.sent = 0
        self._first_user = 10**18 * (number + 1)

    async def prepare(self, connection: Connection) -> None:
        pass

    async def change(self, connection: Connection, number: int) -> None:
        vote = await connection.done("POST", f"/manage/bots/{VOTED_BOT}/votes", {"user": self._user(number)})
        assert vote["vote"] == 1, vote

    async def recovered(self, connection: Connection) -> int:
        counts: list[int] = []
        last = self.sent + 1
        for start in range(1, last + 1, USERS_PER_CALL):
            users = [self._user(number) for number in range(start, min(start + USERS_PER_CALL, last + 1))]
            path = f"/manage/bots/{VOTED_BOT}/votes/check"
            checked = await connection.done("POST", path, {"users": users})
            counts += [vote["vote"] for vote in checked["votes"]]
        found = sum(counts)
        if counts != [1] * found + [0] * (last - found):
            first = counts.index(0) + 1 if 0 in counts else last
            missing = counts[: self.acknowledged].count(0)
            raise Lost(f"vote {first} of {self.sent} is not there", missing)
        return found

    def _user(self, number: int) -> str:
        return str(self._first_user + number)


@dataclass(frozen=True)
class View:
    """The result of an owner's changes, as the debug page shows it. `guest` is the state of a second bot."""

    command_count: int | None = None
    webhook: str | None = None
    voters: int = 0
    guest: str | None = None
    guest_voters: int = 0


class Owner:
    """Repeats nine changes: it pushes stats, saves and removes a webhook, casts and erases votes, and
    submits, approves and removes a second bot."""

    def __init__(self, number: int) -> None:
        self.acknowledged = self.sent = 0
        self._bot = str(2 * 10**17 + 2 * number)
        self._guest = str(2 * 10**17 + 2 * number + 1)
        self._user = str(3 * 10**17 + number)
        self._key = ""
        self._views = [View()]

    async def prepare(self, connection: Connection) -> None:
        self._key = await list_bot(connection, self._bot)

    async def change(self, connection: Connection, number: int) -> None:
        self._views.append(_next_view(self._views[-1], number))
        bot, guest = f"/manage/bots/{self._bot}", f"/manage/bots/{self._guest}"
        match number % 9:
            case 0:
                count = {"command_count": _count(number)}
                await connection.done("PATCH", f"/bots/{self._bot}/stats", count, self._key)
            case 1:
                await connection.done("PUT", f"{bot}/webhook", {"url": _webhook_url(number)})
            case 2:
                await connection.done("POST", f"{bot}/votes", {"user": self._user})
            case 3:
                await connection.done("DELETE", f"/manage/users/{self._user}")
            case 4:
                await connection.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": self._guest})
            case 5:
                await connection.done("POST", f"{guest}/approve", {})
            case 6:
                await connection.done("POST", f"{guest}/votes", {"user": self._user})
            case 7:
                await connection.done("DELETE", guest)
            case 8:
                await connection.done("DELETE", f"{bot}/webhook")

    async def recovered(self, connection: Connection) -> int:
        shown = await self._view(connection)
        for number in range(self.acknowledged, self.sent + 1):
            if shown == self._views[number]:
                del self._views[number + 1 :]
                return number
        wanted = self._views[self.acknowledged]
        raise Lost(f"after change {self.acknowledged} of {self.sent} it is {shown}, not {wanted}", 1)

    async def _view(self, connection: Connection) -> View:
        bot = await connection.done("GET", f"/debug/listings/bots/{self._bot}.json")
        status, guest = await connection.call("GET", f"/debug/listings/bots/{self._guest}.json")
        webhook, is_there = bot["webhook"], status == 200
        return View(
            bot["listing"]["command_count"],
            webhook["url"] if webhook else None,
            bot["voters"],
            guest["listing"]["state"] if is_there else None,
            guest["voters"] if is_there else 0,
        )


def _next_view(view: View, number: int) -> View:
    match number % 9:
        case 0:
            return replace(view, command_count=_count(number))
        case 1:
            return replace(view, webhook=_webhook_url(number))
        case 2:
            return replace(view, voters=1)
        case 3:
            return replace(view, voters=0)
        case 4:
            return replace(view, guest="in_review")
        case 5:
            return replace(view, guest="approved")
        case 6:
            return replace(view, guest_voters=1)
        case 7:
            return replace(view, guest=None, guest_voters=0)
        case _:
            return replace(view, webhook=None)


class Listed(NamedTuple):
    """A listing of a `Lister`, as lists show it."""

    kind: str
    state: str
    voters: int


class Lister:
    """Has a listing of one kind after the other: it submits the sample of the kind, approves it if that is
    needed, casts a vote or gives a like if the kind has them, and removes it."""

    def __init__(self, number: int, kinds: Sequence[Kind] = KINDS) -> None:
        self.acknowledged = self.sent = 0
        self.kinds = kinds
        self._owner, self._user = str(4 * 10**17 + number), str(5 * 10**17 + number)
        self._forms: dict[str, Any] = {}
        self._path = ""
        self._shown: list[Listed | None] = [None]

    @property
    def listed(self) -> Listed | None:
        """The listing after the changes that were acknowledged."""
        return self._shown[self.acknowledged]

    async def prepare(self, connection: Connection) -> None:
        client = Client()
        client.base_url, client.operator_token = connection.base_url, OPERATOR_TOKEN
        for kind in self.kinds:
            self._forms[kind.plural] = {**sample_submission(client, kind), "owner_id": self._owner}
        client.session.close()

    async def change(self, connection: Connection, number: int) -> None:
        kind, step = self._at(number)
        self._shown.append(self._next(kind, step))
        match step:
            case 0:
                form = self._forms[kind.plural]
                listing = await connection.done("POST", f"/manage/{kind}", form)
                self._path = f"/manage/{kind}/{listing['id']}"
            case 1 if not kind.is_seen_at_once:
                await connection.done("POST", f"{self._path}/approve", {})
            case 2 if kind.tally == "votes":
                await connection.done("POST", f"{self._path}/votes", {"user": self._user})
            case 2 if kind.tally == "likes":
                await connection.done("PUT", f"{self._path}/likes/{self._user}", {})
            case 3:
                await connection.done("DELETE", self._path)

    async def recovered(self, connection: Connection) -> int:
        shown = await self._listed(connection)
        for number in range(self.acknowledged, self.sent + 1):
            if shown == self._shown[number]:
                del self._shown[number + 1 :]
                return number
        raise Lost(f"after change {self.acknowledged} of {self.sent} it is {shown}, not {self.listed}", 1)

    def _at(self, number: int) -> tuple[Kind, int]:
        """Return the kind and the step of a change."""
        of, step = divmod(number - 1, CHANGES_OF_A_KIND)
        return self.kinds[of % len(self.kinds)], step

    def _next(self, kind: Kind, step: int) -> Listed | None:
        if step == 3:
            return None
        state = "approved" if step or kind.is_seen_at_once else "in_review"
        return Listed(kind.plural, state, int(step == 2 and kind.tally is not None))

    async def _listed(self, connection: Connection) -> Listed | None:
        """Return the owner's listing, whose id may have been in an answer that never came."""
        found: list[Listed] = []
        for kind in self.kinds:
            for each in (await connection.done("GET", f"/manage/{kind}?limit=100"))[kind.plural]:
                if each["owner_id"] == self._owner:
                    self._path = f"/manage/{kind}/{each['id']}"
                    debug = await connection.done("GET", f"/debug/listings/{kind}/{each['id']}.json")
                    found.append(Listed(kind.plural, each["state"], debug["voters"]))
        if len(found) > 1:
            raise Lost(f"the only listing of an owner is {found}", 1)
        return found[0] if found else None


def _count(number: int) -> int:
    return number % 1_000


def _webhook_url(number: int) -> str:
    return f"http://127.0.0.1:9/{number}"  # nobody listens at that port: deliveries fail and are tried again


def clients(voters: int = 4, owners: int = 1) -> list[Load]:
    return [*map(Voter, range(voters)), *map(Owner, range(owners)), *map(Lister, range(owners))]


async def prepare(base_url: str, loads: Sequence[Load]) -> None:
    async with connected(base_url) as connection:
        await list_bot(connection, VOTED_BOT)
        for load in loads:
            await load.prepare(connection)


async def list_bot(connection: Connection, bot: str) -> str:
    """List an approved bot. Return an API key of it."""
    await connection.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": bot})
    await connection.done("POST", f"/manage/bots/{bot}/approve", {})
    key: str = (await connection.done("POST", f"/manage/bots/{bot}/keys", {"name": "load"}))["key"]
    return key


async def run(base_url: str, loads: Sequence[Load], most: int = 1 << 62) -> None:
    """Run all clients at once, each on its own connection, until the gateway is gone or each has made `most`
    changes."""

    async def run_one(load: Load) -> None:
        with contextlib.suppress(Gone):
            async with connected(base_url) as connection:
                for _ in range(most):
                    load.sent = load.acknowledged + 1
                    await load.change(connection, load.sent)
                    load.acknowledged = load.sent

    async with asyncio.TaskGroup() as group:
        for load in loads:
            group.create_task(run_one(load))


async def check(base_url: str, loads: Sequence[Load]) -> list[int]:
    """Return the number of changes of each client recovered beyond those acknowledged. Raises Lost, Gone."""
    beyond = []
    async with connected(base_url) as connection:
        for load in loads:
            found = await load.recovered(connection)
            if found < load.acknowledged:
                missing = load.acknowledged - found
                raise Lost(f"{found} of {load.acknowledged} changes are there", missing)
            assert found <= load.sent, f"{found} changes are there, {load.sent} were made"
            beyond.append(found - load.acknowledged)
            load.acknowledged = load.sent = found
        voters = sum(load.acknowledged for load in loads if isinstance(load, Voter))
        shown = (await connection.done("GET", f"/debug/listings/bots/{VOTED_BOT}.json"))["voters"]
        assert shown == voters, f"{shown} users have voted, not {voters}"
        numbers = await connection.done("GET", f"/manage/bots/{VOTED_BOT}/numbers")
        counted = {name: sum(each["votes"] for each in numbers[name]) for name in ("days", "months")}
        assert (numbers["total"], counted) == (voters, {"days": voters, "months": voters}), counted
    return beyond


async def verify(base_url: str) -> None:
    """Check that the live state equals the fold of the disk. Raises Gone."""
    async with connected(base_url) as connection:
        found = await connection.done("POST", "/debug/verify")
        assert found["equal"], found
