"""Receivers in web frameworks, as processes, and webhooks that are sent to them."""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import aiohttp
import pytest

from tests.support.gateways import WAIT_SECONDS, eventually
from votegate_client.testing import SignedWebhook, sign

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / "build/frameworks/bin/python"
SERVER = Path(__file__).with_name("server.py")
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
CONNECTIONS = 16


class Receiving:
    """A process that receives webhooks, and can be started again on the same database."""

    def __init__(self, framework: str, folder: Path, secret: str = SECRET) -> None:
        if not PYTHON.exists():
            why = "the web frameworks are missing: `make build/frameworks.stamp`"
            pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
        self.framework = framework
        self._secret = secret
        self.answered = folder / "rewards.answered"
        self._database = folder / "events.db"
        self._rewards = folder / "rewards"

    def start(self) -> "Receiving":
        with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
            self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/votes"
            arguments = [self.framework, str(listening.fileno()), str(self._database), str(self._rewards)]
            self._process = subprocess.Popen(
                [PYTHON, SERVER, *arguments],
                pass_fds=[listening.fileno()],
                env={"PYTHONPATH": str(ROOT / "clients/python"), "WEBHOOK_SECRET": self._secret},
            )
        return self

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(number)
        self._process.wait(WAIT_SECONDS)

    def rewarded(self, count: int) -> list[str]:
        """Return all rewards once there are so many."""
        eventually(lambda: len(self.lines()) >= count)
        return self.lines()

    def lines(self) -> list[str]:
        return self._rewards.read_text().splitlines() if self._rewards.exists() else []


def vote(user: int) -> SignedWebhook:
    """Return the webhook of a new vote."""
    return sign({"bot": "111111111111111111", "user": str(user), "test": False}, SECRET)


def with_repeats(votes: list[SignedWebhook]) -> list[SignedWebhook]:
    """Return ten webhooks for nine votes. Of the repeats, half come at once, and half after all votes."""
    at_once = [[each, each] if number % 18 == 0 else [each] for number, each in enumerate(votes)]
    return [*chain.from_iterable(at_once), *votes[9::18]]


def send(url: str, webhooks: Iterable[SignedWebhook]) -> list[int]:
    """Send webhooks over several connections, and return the statuses."""

    async def sending() -> list[int]:
        waiting = iter(webhooks)
        statuses: list[int] = []

        async def connection(session: aiohttp.ClientSession) -> None:
            for headers, body in waiting:
                async with session.post(url, data=body, headers=headers) as answer:
                    statuses.append(answer.status)

        async with aiohttp.ClientSession() as session:
            await asyncio.gather(*(connection(session) for _ in range(CONNECTIONS)))
        return statuses

    return asyncio.run(sending())
