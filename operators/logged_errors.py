"""The last warnings and errors that were logged, for the operator."""

from typing import Annotated

from msgspec import Meta

from actions.views import Moment, Success, View
from handlers.reply import Reply, success
from handlers.request import Request
from watchers.recent_errors import LINES, RecentErrors


class ErrorLineView(View):
    """A warning or an error that was logged."""

    at: Moment
    level: Annotated[str, Meta(description="`WARNING`, `ERROR` or `CRITICAL`.")]
    logger: Annotated[str, Meta(description="The part of the program that logged it.")]
    text: str
    traceback: str | None
    request_id: Annotated[
        str | None,
        Meta(description="The `x-request-id` of the answer to the request that caused it; null without one."),
    ]


class ErrorLines(Success):
    """The last warnings and errors, the newest first."""

    errors: Annotated[
        tuple[ErrorLineView, ...], Meta(description=f"At most {LINES}. Secrets are struck out.")
    ]


class DebugErrors:
    def __init__(self, recent: RecentErrors) -> None:
        self._recent = recent

    def show(self, _: Request) -> Reply:
        return success(self.view())

    def view(self) -> ErrorLines:
        lines = tuple(
            ErrorLineView(
                at=line.at_ms,
                level=line.level,
                logger=line.logger,
                text=line.text,
                traceback=line.traceback,
                request_id=line.request_id,
            )
            for line in self._recent.lines
        )
        return ErrorLines(errors=lines)
