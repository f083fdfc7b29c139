"""Happenings in a gateway for development. `--json` writes each as one object, by its `event`."""

from msgspec import Struct


class Happening(Struct, frozen=True, kw_only=True, tag_field="event"):
    """Something that is reported to the developer. `at` is the machine's time in Unix milliseconds."""

    at: int


class ReadyToServe(Happening, frozen=True, kw_only=True, tag="ready"):
    """The gateway answers. `is_added` is true if the file was there before, without lines of ours."""

    url: str
    bot_id: str
    env_file: str
    is_added: bool
    webhook: str
    guide: str
    real_limits: bool


class AnsweredRequest(Happening, frozen=True, kw_only=True, tag="request"):
    """A request, and how it was answered.

    A refusal has an `error`, and most have a `code`. For requests of bots it also has `advice`, and in
    `guide` a link that explains it. `by_key` is true if the key `f` made the answer.
    """

    id: str
    method: str
    path: str
    status: int
    duration_ms: float
    limit: int | None = None
    remaining: int | None = None
    retry_after: int | None = None
    code: str | None = None
    error: str | None = None
    sent: str | None = None
    advice: str | None = None
    guide: str | None = None
    by_key: bool = False


class AttemptedDelivery(Happening, frozen=True, kw_only=True, tag="delivery"):
    """An attempt of a webhook. `error` is the name in the delivery log, and `reason` explains it.

    `retry_in` has the seconds to the next attempt; None if there is none.
    """

    id: str
    type: str
    test: bool
    user: str | None
    attempt: int
    status: int | None
    duration_ms: int
    error: str | None = None
    reason: str | None = None
    answer: str | None = None
    retry_in: int | None = None
    advice: str | None = None
    guide: str | None = None


class PausedEndpoint(Happening, frozen=True, kw_only=True, tag="paused"):
    """An endpoint has failed so often that it is suspended. One delivery tries it in `retry_in` seconds."""

    failed: int
    retry_in: int


class DroppedLines(Happening, frozen=True, kw_only=True, tag="dropped"):
    """A number of happenings were not printed, because nobody has read the ones before them."""

    number: int


class DoneCommand(Happening, frozen=True, kw_only=True, tag="command"):
    """A key, or a command of a script, and what it did. `ok` is false if it did nothing."""

    command: str
    ok: bool
    text: str
    user: str | None = None
