"""The answers and refusals of the API, and the faults that a test can ask for."""

import asyncio
import hashlib
import json
import secrets
from typing import Any

from tornado.web import HTTPError, RequestHandler

from stand_in.known import Platform

API = "/api/v10"
SLOW_SECONDS = 60
FAULTS = (
    *(
        "429",
        "429-global",
        "429-long",
        "401",
        "403",
        "404",
        "500",
        "html",
        "slow",
        "cut",
        "missing",
        "types",
        "deep",
    ),
    *("cannot-message", "no-user", "lost", "late"),
)
"""`lost`, `late`: a message is taken, and the answer to it is cut off, or comes too late."""


class Refusal(Exception):
    """An answer of the API that is an error."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(status)
        self.status, self.body = status, body


UNAUTHORIZED = Refusal(401, {"message": "401: Unauthorized", "code": 0})
UNKNOWN_USER = Refusal(404, {"message": "Unknown User", "code": 10_013})
UNKNOWN_CHANNEL = Refusal(404, {"message": "Unknown Channel", "code": 10_003})
CANNOT_MESSAGE = Refusal(403, {"message": "Cannot send messages to this user", "code": 50_007})
UNKNOWN_SERVER = Refusal(404, {"message": "Unknown Guild", "code": 10_004})
UNKNOWN_INVITE = Refusal(404, {"message": "Unknown Invite", "code": 10_006})
UNKNOWN_MEMBER = Refusal(404, {"message": "Unknown Member", "code": 10_007})
UNKNOWN_TEMPLATE = Refusal(404, {"message": "Unknown guild template", "code": 10_057})
NO_ACCESS = Refusal(403, {"message": "Missing Access", "code": 50_001})
NO_PERMISSION = Refusal(403, {"message": "Missing Permissions", "code": 50_013})
SLOTS_FULL = Refusal(400, {"message": "Maximum number of emojis reached (50)", "code": 30_008})
ANIMATED_FULL = Refusal(400, {"message": "Maximum number of animated emojis reached (50)", "code": 30_018})
INVALID_FORM = Refusal(400, {"message": "Invalid Form Body", "code": 50_035})


class Handler(RequestHandler):
    @property
    def platform(self) -> Platform:
        platform: Platform = self.settings["platform"]
        return platform

    def answer(self, body: Any, status: int = 200) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(body))

    def write_error(self, status_code: int, **_: Any) -> None:
        self.answer({"message": f"{status_code}: {self._reason}", "code": 0}, status_code)


class Api(Handler):
    """An endpoint of the API: it may go wrong, and it says how often it may be asked."""

    async def prepare(self) -> None:
        path = self.request.path.removeprefix(API)
        self.platform.asked[path] += 1
        self.set_header("X-RateLimit-Bucket", hashlib.sha256(type(self).__name__.encode()).hexdigest()[:32])
        for name, value in (("Limit", "50"), ("Remaining", "49"), ("Reset-After", "1.000")):
            self.set_header(f"X-RateLimit-{name}", value)
        self.fault = self.platform.fault(path)
        if self.fault is not None:
            await self._go_wrong(self.fault)

    async def _go_wrong(self, fault: str) -> None:
        if fault.startswith("429"):
            is_global = fault == "429-global"
            self.set_header("Retry-After", "1")
            self.set_header("X-RateLimit-Scope", "global" if is_global else "user")
            if is_global:
                self.set_header("X-RateLimit-Global", "true")
            message = "You are being rate limited."
            self.answer(
                {
                    "message": message,
                    "retry_after": 60.0 if fault == "429-long" else 0.2,
                    "global": is_global,
                },
                429,
            )
        elif fault in {"cannot-message", "no-user"}:
            refusal = CANNOT_MESSAGE if fault == "cannot-message" else UNKNOWN_USER
            self.answer(refusal.body, refusal.status)
        elif fault == "html":
            self.set_status(503)
            self.finish("<html><body>error code: 1015</body></html>")
        elif fault in {"401", "403", "404", "500"}:
            code = {"403": 50_001, "404": 10_004}.get(fault, 0)
            self.answer({"message": f"{fault}: as asked for", "code": code}, int(fault))
        elif fault == "deep":
            self.set_header("Content-Type", "application/json")
            self.finish("[" * 100_000)
        elif fault == "slow":
            await asyncio.sleep(SLOW_SECONDS)
        elif fault == "cut":
            await self.cut()

    async def cut(self) -> None:
        """Begin an answer, and end the connection in the midst of it."""
        self.set_header("Content-Length", "1000")
        self.write('{"id": "')
        await self.flush()
        self.detach().close()
        raise HTTPError(500)

    def show(self, body: Any) -> None:
        """Answer, without the fields that matter or with wrong ones if that was asked for."""
        if self.fault in {"missing", "types"}:
            body = [self._wrong(each) for each in body] if isinstance(body, list) else self._wrong(body)
        self.answer(body)

    def _wrong(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.fault == "missing":
            kept = ("id", "name", "username")
            return {name: value for name, value in body.items() if name in kept}
        return {name: value if name == "id" else [value] for name, value in body.items()}

    def log_exception(self, *_: Any) -> None:
        """Say nothing: an answer that goes wrong was asked for."""

    def user_id(self, scope: str) -> str:
        kind, _, token = self.request.headers.get("Authorization", "").partition(" ")
        found = self.platform.tokens.get(token) if kind == "Bearer" else None
        if found is None or scope not in found[1].split():
            raise UNAUTHORIZED
        return found[0]

    def only_bot(self) -> None:
        kind, _, token = self.request.headers.get("Authorization", "").partition(" ")
        if kind != "Bot" or not secrets.compare_digest(token, self.platform.bot_token):
            raise UNAUTHORIZED

    def json_body(self) -> dict[str, Any]:
        try:
            body = json.loads(self.request.body)
        except ValueError:
            body = None
        if self.request.headers.get("Content-Type") != "application/json" or not isinstance(body, dict):
            raise Refusal(400, {"message": "400: Bad Request", "code": 0})
        return body

    def _handle_request_exception(self, e: BaseException) -> None:
        if isinstance(e, Refusal):
            self.answer(e.body, e.status)
        else:
            super()._handle_request_exception(e)
