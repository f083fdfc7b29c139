"""Listings of the users of the stand-in."""

from collections.abc import Sequence

from core.actors import OPERATOR
from people.quarantine import impose
from tests.support.co_owners import let_join
from tests.support.gateways import BOT_SUBMISSION, SERVER_SUBMISSION
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import ADA, READY

SERVER = SERVER_SUBMISSION["id"]
TYPED = {name: value for name, value in BOT_SUBMISSION.items() if name != "owner_id"} | {"id": READY}
"""The form of a submission, filled in."""


def list_bot(
    gateway: PeopleGateway,
    bot: str = READY,
    *,
    owner: str = ADA,
    extra: Sequence[str] = (),
    decision: str | None = None,
    **profile: object,
) -> None:
    """List a bot again.

    Args:
        extra: users who become co-owners.
        decision: "approve", "deny", or None for a bot that stays in review.
    """
    gateway.operate("DELETE", f"/manage/bots/{bot}")
    own = {"id": bot, "owner_id": owner, **profile}
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, **own})
    let_join(gateway, bot, *extra)
    gateway.clock.advance(1)
    if decision is not None:
        body = {"reason": "It is too quiet."} if decision == "deny" else {}
        gateway.done("POST", f"/manage/bots/{bot}/{decision}", body)
        gateway.clock.advance(1)


def list_server(gateway: PeopleGateway, owner: str = ADA, **profile: object) -> None:
    """Remove the server and list it again."""
    gateway.operate("DELETE", f"/manage/servers/{SERVER}")
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "owner_id": owner, **profile})


def forbid_to_submit(gateway: PeopleGateway, user: str, seconds: int) -> None:
    """Forbid a user to submit listings."""
    ledger, now_ms = gateway.gateway.ledger, gateway.clock.now_ms()
    why, until_ms = "It was <b>spam</b>.", now_ms + seconds * 1_000

    def commit() -> int:
        return ledger.commit(impose(ledger.state, user, "submit", why, until_ms, now_ms, by=OPERATOR))

    gateway.on_loop(commit)


def describe(gateway: PeopleGateway, description: str, bot: str = READY) -> None:
    """Change the public description of a bot's application on the chat platform, as its owner would."""
    gateway.stand_in.change_application(bot, description=description)
