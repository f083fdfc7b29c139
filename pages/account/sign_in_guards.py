"""The guards of sign-ins: attempts of an address, states that came back, and a sealed cookie in between.

Invariant: a state counts once, whatever becomes of its sign-in.

This node remembers a state until its sign-in would be too old. In a fleet, Redis remembers it for all nodes.
Two gaps remain, in which a state may count twice: at one node before and after its restart, and at two nodes
while Redis is away. Even then the platform refuses a code that was used before.
"""

import hashlib
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from chatplatform.authorization import SignIn
from core.clock import NS_PER_SECOND, Clock
from core.rows import Policy
from handlers.visitor_limit import VisitorLimit
from web.cookies import SIGN_IN_SECONDS, ValueSeal

MOST_STATES = 100_000
"""With more sign-ins in ten minutes, the oldest state is forgotten."""
FirstInFleet = Callable[[str, float], Awaitable[bool]]
"""Takes a digest and the seconds to remember it; returns false if a node of the fleet has taken it before."""


class SignInGuards:
    """The guards of a gateway.

    Args:
        attempts: how often an address may start a sign-in, and how often it may come back from one.
    """

    def __init__(self, attempts: Policy, clock: Clock, first_in_fleet: FirstInFleet | None = None) -> None:
        self.started = VisitorLimit(attempts, clock)
        """The sign-ins that addresses start."""
        self.finished = VisitorLimit(attempts, clock)
        """The sign-ins that addresses come back from."""
        self._clock = clock
        self._first_in_fleet = first_in_fleet
        self._states: dict[str, int] = {}
        """The time at which a state may be forgotten (monotonic ns), by its digest, the oldest first."""

    async def is_first(self, state: str) -> bool:
        """Remember the state. Return true if it is used for the first time."""
        used, now_ns = self._states, self._clock.monotonic_ns()
        digest = hashlib.sha256(state.encode()).hexdigest()
        if digest in used:
            return False
        while used and (len(used) >= MOST_STATES or next(iter(used.values())) <= now_ns):
            del used[next(iter(used))]
        # The clock of the node where it began may be ahead of this one: hence twice the time.
        used[digest] = now_ns + 2 * SIGN_IN_SECONDS * NS_PER_SECOND
        return self._first_in_fleet is None or await self._first_in_fleet(digest, 2 * SIGN_IN_SECONDS)


class SignInUnderWay(NamedTuple):
    """A request for authorization, and the path to go to after it."""

    request: SignIn
    return_to: str


def sign_in_seal(secret: bytes, random: Callable[[int], bytes]) -> ValueSeal[SignInUnderWay]:
    """Return the seal of sign-ins that are under way, in a cookie."""
    return ValueSeal(SignInUnderWay, secret, b"votegate sign-in cookie", SIGN_IN_SECONDS, random)
