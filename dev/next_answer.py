"""The next answer to the bot. The key `f` makes it a refusal, a failure, or slow."""

from typing import Literal, get_args

from ratelimit.bucket import Decision, TooManyRequests

Planned = Literal["429", "500", "slow"]
PLANS: tuple[Planned, ...] = get_args(Planned)
RETRY_SECONDS = 5
"""The wait that a planned 429 asks for. The windows of the limits are too long to wait for."""
SLOW_SECONDS = 15
"""The wait before a slow answer: longer than a client waits."""


class NextAnswer:
    """The plan for the next answer to a bot. That answer uses it up."""

    def __init__(self) -> None:
        self.plan: Planned | None = None

    def turn(self) -> Planned | None:
        """Choose the next plan, or none after the last one. Return it."""
        following = (*PLANS, None)
        at = PLANS.index(self.plan) + 1 if self.plan is not None else 0
        self.plan = following[at]
        return self.plan

    def take(self) -> Planned | None:
        """Return the plan, and use it up."""
        plan, self.plan = self.plan, None
        return plan


def planned_refusal(now_ns: int) -> TooManyRequests:
    """Return the refusal of a limit that is used up."""
    decision = Decision(
        allowed=False,
        limit=1,
        remaining=0,
        reset_seconds=RETRY_SECONDS,
        window_seconds=RETRY_SECONDS,
        started_ns=now_ns,
    )
    return TooManyRequests(decision)
