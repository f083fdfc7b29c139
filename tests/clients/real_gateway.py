"""A real gateway in the scenes of clients/stories.json.

`python -m tests.clients.real_gateway` speaks lines of JSON, as `tests.clients.scripted_server` does, so that
runners in any language can use it:

    the runner writes                    the gateway writes
    {"begin": STORY, "receiver": URL}    {"ready": {"address", "key", "bot_id", "guild_id", "now", "secrets"}}
    {"go": true}                         (it sends its webhooks; not for stories of clients)
    {"end": true}                        {"ended": {}}

`receiver` is where webhooks go. `now` is the time of the gateway's clock, which stands still: give it to the
client's. `secrets` are the ones that the receiver shall know. The story's ids of bot and server stand for
those of `ready`, so that each story has a bot, and a limit, of its own. `key` is for stories that name none.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests.clients.stories import DEFAULTS, Story, named
from tests.support.gateways import (
    BOT_SUBMISSION,
    SERVER_SUBMISSION,
    ThreadGateway,
    eventually,
    running,
)

BOT: str = DEFAULTS["client"]["bot_id"]
GUILD = "222222222222222222"
VOTER = "333333333333333333"
ACTUAL_COUNT = 1_200
DAY_SECONDS = 24 * 60 * 60
Act = tuple[str, str, dict[str, Any]]
VOTE: Act = ("POST", "votes", {"user": VOTER})
ACTS: dict[str, Act] = {
    "test": ("POST", "webhook/test", {"user": VOTER}),
    "review.approved": ("POST", "approve", {}),
    "review.denied": ("POST", "deny", {"reason": "It answers no command."}),
    "vote.struck": ("POST", "votes/strike", {"reason": "Accounts of one person.", "users": [VOTER]}),
    "rating.posted": (
        "PUT",
        f"ratings/{VOTER}",
        {"stars": 4, "text": "It counts well, and its owner helps."},
    ),
}
"""The call that sends the webhook of a scene: a method, the end of a path, a body. The default: a vote."""


class Ready(NamedTuple):
    """A scene: the fields that a runner needs, and the call that begins it."""

    fields: dict[str, Any]
    act: Callable[[], object]


class Scenes:
    """Scenes on one gateway. Each has a bot and a server of its own."""

    def __init__(self, gateway: ThreadGateway) -> None:
        self._gateway = gateway
        self._number = 0

    def begin(self, story: Story, receiver: str | None = None) -> Ready:
        """Set the scene of a story."""
        self._number += 1
        bot, guild = (str(int(first) + self._number) for first in (BOT, GUILD))
        scene: dict[str, Any] = {"address": self._gateway.base_url, "bot_id": bot, "guild_id": guild}
        if story["side"] == "client":
            scene["key"] = self._client_scene(story["gateway"], bot)
            act: Callable[[], object] = bool  # nothing
        else:
            assert receiver is not None
            path = f"/manage/servers/{guild}" if story["gateway"] == "server vote" else f"/manage/bots/{bot}"
            scene["secrets"], act = self._receiver_scene(story, path, receiver)
        return Ready({**scene, "now": self._gateway.clock.now_ms() / 1_000}, act)

    def _client_scene(self, scene: str, bot: str) -> str:
        """List a bot. Return its key."""
        key = self._gateway.list_bot(bot, None if scene == "count unknown" else ACTUAL_COUNT)
        if scene == "limit used":
            for _ in range(2):
                assert self._gateway.stats(key, {"command_count": 1}, bot).status_code == 200
        elif scene == "listed":
            for _ in range(3):
                self._gateway.clock.advance(DAY_SECONDS)
                self._gateway.cast(VOTER, f"/manage/bots/{bot}")
        return key

    def _receiver_scene(
        self, story: Story, path: str, receiver: str
    ) -> tuple[list[str], Callable[[], object]]:
        """List a bot or a server with a webhook. Return the secrets, and what sends the webhooks."""
        gateway, scene = self._gateway, story["gateway"]
        collection, _, its_id = path.rpartition("/")
        submission = SERVER_SUBMISSION if collection == "/manage/servers" else BOT_SUBMISSION
        gateway.done("POST", collection, {**submission, "id": its_id})
        webhook = {"url": receiver, "events": [scene] if "." in scene else ["vote"]}
        token = {name: story["options"][name] for name in ("token",) if name in story["options"]}
        secret = gateway.done("PUT", f"{path}/webhook", {**webhook, **token})["secret"]
        if not scene.startswith("review."):
            gateway.done("POST", f"{path}/approve", {})
        if scene == "rotated":
            gateway.done("POST", f"{path}/webhook/secret/rotate", {"overlap_seconds": 3600})
        elif scene in {"vote.struck", "rating.posted"}:
            gateway.cast(VOTER, path)
        elif scene == "sent again":
            return [secret], lambda: self._vote_thrice(path)
        method, rest, body = ACTS.get(scene, VOTE)
        return [secret], lambda: gateway.done(method, f"{path}/{rest}", body)

    def _vote_thrice(self, path: str) -> None:
        """Send a vote, and its event again and again."""
        gateway = self._gateway
        gateway.cast(VOTER, path)
        for times in (1, 2):
            sent = eventually(partial(self._delivered, path, times))
            gateway.done("POST", f"{path}/webhook/deliveries/{sent}/redeliver")

    def _delivered(self, path: str, times: int) -> str | None:
        """Return the id of a delivery that has had so many attempts, and waits for none."""
        self._gateway.advance(1)
        [row] = self._gateway.done("GET", f"{path}/webhook/deliveries")["deliveries"]
        return str(row["id"]) if len(row["attempts"]) == times else None


@contextmanager
def scenes(folder: Path) -> Iterator[Scenes]:
    with running(folder) as gateway:
        yield Scenes(gateway)


def with_ids(story: Story, ready: Ready) -> Story:
    """Return a story about the bot and the server of a scene."""
    text = json.dumps(story)
    for placeholder, name in ((BOT, "bot_id"), (GUILD, "guild_id")):
        text = text.replace(placeholder, ready.fields[name])
    return dict(json.loads(text))


def main() -> None:
    """Set the scenes of the stories that lines of the input name, one after the other."""
    with tempfile.TemporaryDirectory() as folder, scenes(Path(folder) / "data") as stage:
        ready = None
        for line in sys.stdin:
            command = json.loads(line)
            if "begin" in command:
                ready = stage.begin(named(command["begin"]), command.get("receiver"))
                answer = {"ready": ready.fields}
            elif "go" in command and ready is not None:
                ready.act()
                continue
            else:
                answer = {"ended": {}}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
