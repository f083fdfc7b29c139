"""Every path and method, once. Law: what is not here does not exist; what is here, OpenAPI describes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from handlers.debug import Debug
from handlers.manage import ManageContext, Operator, bot_ref, server_ref
from handlers.manage_keys import ManageKeys
from handlers.manage_listings import ManageListings
from handlers.manage_votes import ManageUsers, ManageVotes
from handlers.manage_webhooks import AttemptWatch, ManageWebhooks
from handlers.public import Caller, PublicApi
from handlers.reply import Reply, failure, success
from handlers.request import Endpoint, Request

Finish = Callable[[Request, Reply], Reply]


@dataclass(frozen=True)
class Route:
    """A path template with `{name}` parameters and its endpoints by method.

    `finish` sees every answer that no endpoint made (405, OPTIONS, a bug), to add the headers that each
    answer of the route must have. A route that is `lenient` is found with one trailing slash, too.
    """

    path: str
    endpoints: Mapping[str, Endpoint]
    finish: Finish = lambda _, reply: reply
    lenient: bool = False

    @property
    def pattern(self) -> str:
        pattern = re.sub(r"\\\{\w+\\\}", "([^/]+)", re.escape(self.path))
        return f"{pattern}/?" if self.lenient else pattern

    @property
    def allow(self) -> str:
        """The value of an `Allow` header (RFC 9110, 10.2.1)."""
        methods = [*self.endpoints, *(["HEAD"] if "GET" in self.endpoints else []), "OPTIONS"]
        return ", ".join(methods)


def public_routes(public: PublicApi) -> list[Route]:
    def caller(request: Request) -> Caller:
        return public.caller(request.authorization, request.address)

    def finish(request: Request, reply: Reply) -> Reply:
        return public.unproven(request.address, reply)

    return [
        Route(
            "/bots/{id}/stats",
            {"PATCH": lambda r: public.stats(r.params[0], caller(r), r.body)},
            finish,
            lenient=True,
        ),
        Route(
            "/bots/{id}/voters/{user_id}",
            {"GET": lambda r: public.voters(r.params[0], r.params[1], caller(r))},
            finish,
            lenient=True,
        ),
    ]


def open_routes(readiness: Callable[[], str | None], described: Reply, shown: Reply) -> list[Route]:
    """What anybody may ask: the description of the API, and whether the process is alive and ready.

    Args:
        readiness: gives None when the gateway is ready, else why it is not.
        described: the OpenAPI document.
        shown: the page made of it.
    """

    def ready(_: Request) -> Reply:
        reason = readiness()
        return success() if reason is None else failure(503, f"Not ready: {reason}.")

    return [
        Route("/openapi.json", {"GET": lambda _: described}),
        Route("/docs", {"GET": lambda _: shown}),
        Route("/healthz", {"GET": lambda _: success()}),
        Route("/readyz", {"GET": ready}),
    ]


def manage_routes(
    context: ManageContext, operator: Operator, watch: AttemptWatch, attempt_seconds: float
) -> list[Route]:
    bots = ManageListings(context, "bots", bot_ref)
    servers = ManageListings(context, "servers", server_ref)
    keys, users = ManageKeys(context), ManageUsers(context)
    paths: dict[str, dict[str, Endpoint]] = {}
    for listings, ref in ((bots, bot_ref), (servers, server_ref)):
        votes = ManageVotes(context, ref)
        webhooks = ManageWebhooks(context, ref, watch, attempt_seconds)
        root = f"/manage/{listings.kind}"
        one = root + "/{id}"
        paths |= {
            root: {"POST": listings.submit, "GET": listings.index},
            one: {"GET": listings.show, "PUT": listings.edit, "DELETE": listings.remove},
            one + "/approve": {"POST": listings.approve},
            one + "/deny": {"POST": listings.deny},
            one + "/webhook": {"PUT": webhooks.save, "GET": webhooks.show, "DELETE": webhooks.remove},
            one + "/webhook/secret/rotate": {"POST": webhooks.rotate_secret},
            one + "/webhook/test": {"POST": webhooks.test},
            one + "/webhook/deliveries": {"GET": webhooks.deliveries},
            one + "/webhook/deliveries/redeliver": {"POST": webhooks.redeliver_failed},
            one + "/webhook/deliveries/{delivery_id}/redeliver": {"POST": webhooks.redeliver},
            one + "/votes": {"POST": votes.cast},
            one + "/votes/check": {"POST": votes.check},
        }
    paths |= {
        "/manage/bots/{id}/keys": {"POST": keys.issue, "GET": keys.index},
        "/manage/bots/{id}/keys/{key_id}": {"DELETE": keys.delete},
        "/manage/bots/{id}/keys/{key_id}/rotate": {"POST": keys.rotate},
        "/manage/bots/{id}/actual-server-count": {"PUT": bots.set_actual_count},
        "/manage/bots/{id}/limits": {"PUT": bots.set_limits},
        "/manage/users/{id}": {"DELETE": users.erase},
    }
    return _for_operator(operator, paths)


def debug_routes(debug: Debug, operator: Operator) -> list[Route]:
    return _for_operator(
        operator,
        {
            "/debug/state": {"GET": debug.state},
            "/debug/bots/{id}": {"GET": debug.bot},
            "/debug/snapshot": {"POST": debug.snapshot, "GET": debug.backup},
            "/debug/verify": {"POST": debug.verify},
        },
    )


def _for_operator(operator: Operator, paths: Mapping[str, Mapping[str, Endpoint]]) -> list[Route]:
    return [
        Route(path, {method: operator.only(endpoint) for method, endpoint in endpoints.items()})
        for path, endpoints in paths.items()
    ]
