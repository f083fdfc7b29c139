"""Sees every answer and every delivery of a gateway, and reports them to the developer.

The endpoints are wrapped before the application is made of them, so a wrapper sees the reply with its code.
The answer itself is reported when it is sent, like the lines of the access log, and so are the answers that
no endpoint made. The id of the request joins the two. Deliveries are read from committed records.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from inspect import isawaitable
from typing import NamedTuple

import msgspec
from msgspec import structs

from actions.deliveries import text_of_error
from core.actors import REQUEST_ID
from core.clock import NS_PER_MS, Clock
from core.events import DeliveryAttempted, DeliveryQueued, EndpointHealthSet, Event
from core.newest import Newest
from dev.advice import Advice, advice_for_delivery, advice_for_request
from dev.happenings import AnsweredRequest, AttemptedDelivery, DoneCommand, Happening, PausedEndpoint
from dev.next_answer import SLOW_SECONDS, NextAnswer, Planned, planned_refusal
from handlers.reply import SPOKEN, Reply, reply_to
from handlers.request import Endpoint, Request
from handlers.route import Finish, Resource
from handlers.routes import GUIDE
from languages.said import Code, in_words
from languages.texts import in_english
from serving.application import bug
from serving.direct import request_id
from watchers.redaction import Redactor

OF_BOTS = frozenset({"updateStats", "checkVote"})
"""The operations of bots, whose refusals the guide explains."""
KEPT = 1_000
"""The answers and deliveries that are remembered."""
SENT_CHARACTERS = 200
"""The characters of a refused body that are shown."""
FAILED = 400
"""The lowest status of a failure."""
BAD_REQUEST = 400
"""The status of a refused body."""
_CODES: Mapping[int, Code] = {404: "no_such_path", 405: "method_not_allowed"}
"""The codes of answers that no endpoint made."""


class _Seen(NamedTuple):
    """A reply that is about to be sent."""

    operation: str | None
    request: Request
    reply: Reply
    plan: Planned | None


class _ErrorText(msgspec.Struct):
    error: str
    fields: Mapping[str, str] = {}


class Watching:
    """Tells of answers, deliveries and paused endpoints.

    Args:
        machine: the clock of the machine, for all times but those of the rules.
        tell: is called with each happening, on the event loop.
    """

    def __init__(self, machine: Clock, redactor: Redactor, tell: Callable[[Happening], None]) -> None:
        self.machine = machine
        self.tell = tell
        self.url = ""
        """The address of the gateway, once it answers."""
        self.next_answer = NextAnswer()
        self.endpoints: dict[str, Mapping[str, Endpoint]] = {}
        """The unwatched endpoints of each path, by method."""
        self.latest_delivery: str | None = None
        """The id of the delivery that was attempted last."""
        self.is_paused = False
        """True while votes wait for the endpoint to work again."""
        self.sending: DoneCommand | None = None
        """The command whose delivery is about to be queued. It is told in front of the attempt."""
        self._redactor = redactor
        self._seen = Newest[str, _Seen](KEPT)
        self._queued = Newest[str, DeliveryQueued](KEPT)

    # -- answers ---------------------------------------------------------------------------------------------

    def watching(self, resources: Sequence[Resource]) -> list[Resource]:
        """Return the resources with endpoints that are watched."""
        self.endpoints = {each.path: each.endpoints for each in resources}
        return [self._watched(each) for each in resources]

    def _watched(self, resource: Resource) -> Resource:
        endpoints = {
            method: partial(self._answer, resource, endpoint)
            for method, endpoint in resource.endpoints.items()
        }
        return replace(resource, endpoints=endpoints, finish=partial(self._finish, resource.finish))

    async def _answer(self, resource: Resource, endpoint: Endpoint, request: Request) -> Reply:
        operation = resource.name(request.method)
        plan = self.next_answer.take() if operation in OF_BOTS else None
        try:
            reply = await self._planned(plan, resource, request)
            if reply is None:
                answer = endpoint(request)
                reply = await answer if isawaitable(answer) else answer
        except SPOKEN as error:
            reply = reply_to(error)
        self._seen[REQUEST_ID.get()] = _Seen(operation, request, reply, plan)
        return reply

    async def _planned(self, plan: Planned | None, resource: Resource, request: Request) -> Reply | None:
        """Return the planned answer, or None if the endpoint is to answer now. Raises the planned refusal."""
        if plan == "429":
            raise planned_refusal(self.machine.monotonic_ns())
        if plan == "500":
            return resource.finish(request, bug(REQUEST_ID.get()))
        if plan == "slow":
            text = f"this answer waits for {SLOW_SECONDS} seconds"
            self.tell(DoneCommand(at=self.machine.now_ms(), command="f", ok=True, text=text))
            await asyncio.sleep(SLOW_SECONDS)
        return None

    def _finish(self, finish: Finish, request: Request, reply: Reply) -> Reply:
        """See an answer that no endpoint made."""
        finished = finish(request, reply)
        self._seen[REQUEST_ID.get()] = _Seen(None, request, finished, None)
        return finished

    def answered(self, status: int, method: str, path: str, _: str, duration_ns: int, number: int) -> None:
        """Tell of an answer that was sent. It has the parameters of a line in the access log."""
        its_id = request_id(number)
        seen = self._seen.pop(its_id, None)
        limits = seen.reply.limits if seen is not None else None
        told = AnsweredRequest(
            at=self.machine.now_ms(),
            id=its_id,
            method=method,
            path=self._redactor(path.partition("?")[0]),
            status=status,
            duration_ms=round(duration_ns / NS_PER_MS, 1),
            limit=limits.limit if limits is not None else None,
            remaining=limits.remaining if limits is not None else None,
            by_key=seen is not None and seen.plan is not None,
        )
        self.tell(told if status < FAILED else self._explained(told, seen))

    def _explained(self, told: AnsweredRequest, seen: _Seen | None) -> AnsweredRequest:
        """Return a refusal with its reason, and for a bot's request with the place in the guide."""
        code, advice = _CODES.get(told.status), None
        if seen is not None and seen.reply.why is not None:
            code = seen.reply.why.code
        if code is not None and (seen is None or seen.operation in {None, *OF_BOTS}):
            request = seen.request if seen is not None else None
            advice = advice_for_request(code, request, told.path, told.limit)
        return structs.replace(
            told,
            code=code,
            error=error_text(told.status, code, seen.reply.body if seen is not None else b""),
            retry_after=_retry_after(seen.reply) if seen is not None else None,
            sent=self._sent(seen.request) if seen is not None and told.status == BAD_REQUEST else None,
            advice=advice.text if advice is not None else None,
            guide=self._link(advice) if advice is not None else None,
        )

    def _sent(self, request: Request) -> str | None:
        text = (request.body or b"").decode("utf-8", "replace")
        return self._redactor(text)[:SENT_CHARACTERS] or None

    def _link(self, advice: Advice) -> str:
        return f"{self.url}{GUIDE}#{advice.anchor}"

    # -- deliveries ------------------------------------------------------------------------------------------

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record, and tell of attempts and pauses."""
        for event in events:
            match event:
                case DeliveryQueued():
                    self._queued[event.delivery_id] = event
                    if self.sending is not None:
                        self.tell(self.sending)
                        self.sending = None
                case DeliveryAttempted():
                    self._tell_attempt(event)
                case EndpointHealthSet(suspension=paused):
                    self.is_paused = paused is not None
                    if paused is not None:
                        self._tell_pause(event.failed, paused.probe_ms)

    def _tell_pause(self, failed: int, probe_ms: int) -> None:
        seconds = self._seconds_to(probe_ms)
        self.tell(PausedEndpoint(at=self.machine.now_ms(), failed=failed, retry_in=seconds))

    def _tell_attempt(self, event: DeliveryAttempted) -> None:
        queued, attempt = self._queued.get(event.delivery_id), event.attempt
        self.latest_delivery = event.delivery_id
        advice = advice_for_delivery(attempt.error) if attempt.error is not None else None
        next_ms = event.next_attempt_ms
        self.tell(
            AttemptedDelivery(
                at=self.machine.now_ms(),
                id=event.delivery_id,
                type=queued.kind if queued is not None else "vote",
                test=queued is not None and queued.test,
                user=(queued.user or None) if queued is not None else None,
                attempt=event.number,
                status=attempt.status,
                duration_ms=attempt.duration_ms,
                error=attempt.error,
                reason=in_english(text_of_error(attempt.error)) if attempt.error is not None else None,
                answer=self._redactor(attempt.excerpt) or None,
                retry_in=self._seconds_to(next_ms) if next_ms is not None else None,
                advice=advice.text if advice is not None else None,
                guide=self._link(advice) if advice is not None else None,
            )
        )

    def _seconds_to(self, at_ms: int) -> int:
        """Return the seconds to a time that the sender has set by the clock of the machine."""
        return max(-((self.machine.now_ms() - at_ms) // 1_000), 0)


def error_text(status: int, code: Code | None, body: bytes) -> str:
    """Return the text of a refusal, with the faults of its fields."""
    try:
        found = msgspec.json.decode(body, type=_ErrorText)
    except msgspec.DecodeError:  # a page, or an answer of the server itself
        return in_words(code) if code is not None else HTTPStatus(status).phrase
    return " ".join([found.error, *(f"{name}: {fault}" for name, fault in found.fields.items())])


def _retry_after(reply: Reply) -> int | None:
    """Return the wait in the header `retry-after`."""
    if reply.limits is not None and not reply.limits.allowed:
        return reply.limits.reset_seconds
    value = reply.headers.get("retry-after", "")
    return int(value) if value.isdigit() else None
