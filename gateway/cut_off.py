"""The requests that a node refuses while it is cut off from its fleet (`redis.cut_off`). No logic.

Only what needs no fleet is answered then: the health of the process, the API's description, the operator's
pages, and static files.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.membership import Membership
from handlers.reply import Reply, refused
from handlers.request import Endpoint, Request
from handlers.route import Resource
from wire.http_server import WireServer

if TYPE_CHECKING:
    from replication.members.isolation import Isolation

ALONE = ("/healthz", "/readyz", "/openapi.json", "/docs", "/metrics", "/debug", "/static/")
"""The beginnings of paths that need no fleet."""
_REFUSAL = refused("cut_off")


def refused_while_cut_off(fleet: Membership | None, resources: Sequence[Resource]) -> list[Resource]:
    """Return the resources; those that need a fleet answer 503 while this node is cut off."""
    if fleet is None or not fleet.isolation.may_refuse:
        return [*resources]
    return [
        each if each.path.startswith(ALONE) else _refused_while_cut_off(fleet.isolation, each)
        for each in resources
    ]


def leave_to_application_while_cut_off(fleet: Membership | None, server: WireServer) -> None:
    """Switch the direct route off while this node is cut off: it asks nobody whether it may answer."""
    if fleet is not None:
        fleet.isolation.switch = server.leave_to_application
        server.leave_to_application(fleet.isolation.is_cut_off)


def _refused_while_cut_off(isolation: "Isolation", resource: Resource) -> Resource:
    def guarded(endpoint: Endpoint) -> Endpoint:
        return lambda request: cut_off(request) if isolation.is_cut_off else endpoint(request)

    def cut_off(request: Request) -> Reply:
        return resource.finish(request, _REFUSAL)

    return replace(resource, endpoints={method: guarded(each) for method, each in resource.endpoints.items()})
