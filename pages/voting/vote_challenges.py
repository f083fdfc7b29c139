"""A proof of work before a suspicious vote (ALTCHA, version 2).

Invariant: a solution is for one user and one listing, counts once, and is valid for five minutes.

The browser looks for a number whose derived key begins with a given prefix. That costs users of many
accounts time. It is no test of being human. A challenge is signed, so nothing is kept until it is solved. The
memory of used solutions is bounded. One that leaves it early could be used again for the same vote alone,
which the cooldown refuses.
"""

import asyncio
import base64
import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Literal

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.clock import Clock

if TYPE_CHECKING:
    from altcha import Payload

ALGORITHM = "PBKDF2/SHA-256"
COST = 5_000
"""The rounds of one derivation. 256 derivations are needed on average: the prefix is one byte."""
PREFIX = "00"
LASTS_MS = 300_000
MOST_CHARACTERS = 4_096
"""A solution is about 700 characters long."""
USED_KEPT = 100_000
_PURPOSE = b"votegate vote challenge"

Verdict = Literal["solved", "late", "wrong"]


class VoteChallenges:
    """Makes challenges, and judges their solutions.

    Args:
        secret: bytes that all nodes of a deployment share, and nobody else knows.
    """

    def __init__(self, secret: bytes, clock: Clock) -> None:
        self._key = HKDF(SHA256(), 32, None, _PURPOSE).derive(secret)
        self._clock = clock
        self._used: OrderedDict[str, int] = OrderedDict()  # signature -> when it is late (Unix ms)

    async def new(self, ref: str, user: str) -> str:
        """Return a challenge as JSON, for the script of the page."""
        until_ms = self._clock.now_ms() + LASTS_MS
        return await asyncio.to_thread(self._made, {"listing": ref, "user": user, "until": until_ms})

    async def judge(self, solution: str, ref: str, user: str) -> Verdict:
        """Judge a solution, which is used then. A derivation takes 2 ms, so a thread makes it."""
        if len(solution) > MOST_CHARACTERS:
            return "wrong"
        payload = await asyncio.to_thread(self._verified, solution)
        if payload is None:
            return "wrong"
        data, now_ms = payload.challenge.parameters.data or {}, self._clock.now_ms()
        if (data["listing"], data["user"]) != (ref, user):
            return "wrong"
        signature = payload.challenge.signature or ""
        if now_ms >= data["until"] or signature in self._used:
            return "late"
        self._use(signature, data["until"], now_ms)
        return "solved"

    def _made(self, data: dict[str, Any]) -> str:
        from altcha import create_challenge  # it imports an HTTP client: the first challenge pays for that

        made = create_challenge(ALGORITHM, COST, key_prefix=PREFIX, data=data, hmac_secret=self._key)
        return json.dumps(made.to_dict())

    def _verified(self, solution: str) -> "Payload | None":
        """Return a right solution, for any user and listing; None for a wrong one."""
        from altcha import verify_solution

        payload = _read(solution)
        if payload is None:
            return None
        parameters = payload.challenge.parameters
        if (parameters.algorithm, parameters.cost, parameters.key_prefix) != (ALGORITHM, COST, PREFIX):
            return None  # of another version; and no stranger decides how long a derivation takes
        return payload if verify_solution(payload, self._key).verified else None

    def _use(self, signature: str, until_ms: int, now_ms: int) -> None:
        for _ in range(2):
            oldest = next(iter(self._used), None)
            if oldest is None or (len(self._used) < USED_KEPT and self._used[oldest] > now_ms):
                break
            del self._used[oldest]
        self._used[signature] = until_ms


def _read(solution: str) -> "Payload | None":
    """Return what the script of the page has sent; None for anything else."""
    from altcha import Challenge, Payload, Solution

    try:
        read = json.loads(base64.b64decode(solution, validate=True))
        return Payload(Challenge.from_dict(read["challenge"]), Solution.from_dict(read["solution"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
