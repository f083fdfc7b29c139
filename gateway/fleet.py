"""The fleet: the other nodes, as the rest of a gateway knows them. No logic.

`fleet_node.py` builds the fleet of a gateway that joins one. A gateway that serves alone does not import it,
because replication and Redis's client would cost a tenth of its start.

A node that is cut off from its fleet (`redis.cut_off`) answers only what needs no fleet: the health of the
process, the API's description, the operator's pages, and static files.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from handlers.reply import Reply, refused
from handlers.request import Endpoint, Request
from handlers.route import Resource
from kinds.kind import Kind
from kinds.registry import KINDS, kind_of
from ratelimit.bucket import Buckets
from wire.http_server import WireServer

if TYPE_CHECKING:
    from replication.claims import Claims
    from replication.copies import Forgetting
    from replication.epochs import Identity
    from replication.node import Node
    from replication.publisher import Outgoing, Publisher
    from replication.readiness import Isolation
    from workers.reading import SiblingReading

ALONE = ("/healthz", "/readyz", "/openapi.json", "/docs", "/metrics", "/debug", "/static/")
"""The beginnings of paths that need no fleet."""
_REFUSAL = refused("cut_off")


@dataclass(frozen=True)
class FleetReaders:
    """The readers of the log that a gateway has as a node of a fleet."""

    forgetting: "Forgetting"
    outgoing: "Outgoing"
    identity: "Identity"
    publisher: "Publisher"
    siblings: "SiblingReading | None" = None
    """The other workers of this machine, if there are any."""


@dataclass(frozen=True)
class Fleet:
    """The fleet that a gateway belongs to. Without `node` it serves alone: the defaults are for that."""

    node: "Node | None" = None
    claims: "Claims | None" = None
    isolation: "Isolation | None" = None
    digest_of: Callable[[str], str] = lambda _: ""
    """Returns the keyed digest by which a fleet remembers an erased user."""
    readers: FleetReaders | None = None
    voters: Buckets = field(default_factory=Buckets)
    """The buckets of vote checks, which all nodes share."""
    kinds: Collection[Kind] = KINDS
    """The kinds that this gateway offers."""

    def may_send_webhooks(self) -> bool:
        return self.node is None or self.node.may_send_webhooks()

    def may_send_reminders(self) -> bool:
        return self.node is None or self.node.may_send_reminders()

    def asks(self, ref: str) -> bool:
        """Return true if this node asks the chat platform about a listing of a kind that it offers."""
        return kind_of(ref) in self.kinds and (self.node is None or self.node.asks(ref))

    def why_not_ready(self) -> str | None:
        return self.node.why_not_ready() if self.node is not None else None

    def standing(self) -> dict[str, Any] | None:
        return self.node.standing() if self.node is not None else None

    def concerns(self) -> list[str]:
        return self.node.concerns() if self.node is not None else []

    def metered(self) -> Mapping[str, Any] | None:
        """Return the numbers of a scrape; None for a gateway that serves alone."""
        standing = self.standing()
        if standing is None:
            return None
        return {**standing, "may_send_webhooks": self.may_send_webhooks(), "concerns": self.concerns()}

    async def until_ready(self, stop: asyncio.Event) -> None:
        """Return when this node knows what other nodes have sent for it, or at `stop`."""
        if self.node is not None:
            await self.node.until_ready(stop)

    @property
    def is_catching_up(self) -> bool:
        return self.node is not None and self.node.is_catching_up

    async def leave(self) -> None:
        if self.node is not None:
            await self.node.leave()

    def refusing(self, resources: Sequence[Resource]) -> list[Resource]:
        """Return the resources; those that need a fleet answer 503 while this node is cut off."""
        if self.isolation is None or not self.isolation.may_refuse:
            return [*resources]
        return [
            each if each.path.startswith(ALONE) else _refused_while_cut_off(self.isolation, each)
            for each in resources
        ]

    def switch_direct_route(self, server: WireServer) -> None:
        """Switch the direct route off while this node is cut off: it asks nobody whether it may answer."""
        isolation = self.isolation
        if isolation is None:
            return

        def switch() -> None:
            server.leave_to_application(is_left=isolation.is_cut_off)

        isolation.switch = switch
        switch()


def _refused_while_cut_off(isolation: "Isolation", resource: Resource) -> Resource:
    def guarded(endpoint: Endpoint) -> Endpoint:
        return lambda request: cut_off(request) if isolation.is_cut_off else endpoint(request)

    def cut_off(request: Request) -> Reply:
        return resource.finish(request, _REFUSAL)

    return replace(resource, endpoints={method: guarded(each) for method, each in resource.endpoints.items()})
