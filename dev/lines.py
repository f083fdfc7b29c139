"""Happenings as lines for people, and as JSON for scripts.

Invariant: a line fits 80 columns, or a narrower terminal of 40 or more, unless it has a long path or a link.
No text from outside steers the terminal.

    14:13:20 200 GET   /bots/BOT_ID/voters/323456789012345678             998 left
    14:13:21 401 PATCH /bots/BOT_ID/stats                                 999 left
                 Invalid API key.
                 Send API_KEY of the .env file, for BOT_ID of the same file.
                 http://127.0.0.1:8080/docs/bots#the-key
    14:13:22 ->  vote of user 323456789012345678, attempt 1: 204 after 12 ms
    14:13:25 c   the clock is 24 hours ahead, for votes, limits and sessions
"""

import textwrap
from collections.abc import Callable
from datetime import datetime

import click
import msgspec

from dev.advice import REQUESTS
from dev.commands import KEYS
from dev.happenings import (
    AnsweredRequest,
    AttemptedDelivery,
    DoneCommand,
    DroppedLines,
    Happening,
    PausedEndpoint,
    ReadyToServe,
)

COLUMNS = 80
"""The columns of the longest line."""
LEAST_COLUMNS = 40
"""Lines are not folded further. A terminal that is narrower breaks them itself."""
MARGIN = " " * 13
"""The columns of the time and the status, or of the key."""
BELOW_LABEL = " " * 12
"""The columns of a label at the start, such as `webhooks`."""
SLOW_MS = 1_000
"""An answer that takes this long has its duration in its line."""
BOT_ID = "BOT_ID"
"""The name of the demo bot's id in the .env file. Paths show it instead of the id."""


def as_json(happening: Happening) -> str:
    """Return one line of JSON."""
    return msgspec.json.encode(happening).decode()


class DevLines:
    """Writes happenings as text.

    Args:
        bot_id: the demo bot.
        has_colours: true for a terminal.
        has_keys: true if keys do something.
        width: returns the columns of the terminal; 0 without one.
    """

    def __init__(
        self, bot_id: str, *, has_colours: bool, has_keys: bool, width: Callable[[], int] = lambda: 0
    ) -> None:
        self._bot_id = bot_id
        self._width = width
        self._has_colours = has_colours
        self._has_keys = has_keys

    def of(self, happening: Happening) -> str:
        """Return the lines of a happening, without the last line feed."""
        match happening:
            case ReadyToServe():
                return self._ready(happening)
            case AnsweredRequest():
                return self._request(happening)
            case AttemptedDelivery():
                return self._delivery(happening)
            case PausedEndpoint(failed=failed, retry_in=seconds):
                why = f"after {failed:,} failed events" if failed else "because it answered 410"
                text = f"the endpoint is suspended, {why}; webhooks wait"
                more = f"Press t when your receiver runs. Otherwise, the next attempt is in {seconds} s."
                return self._headed(happening, "->", [text, more], "red")
            case DroppedLines(number=number):
                return self._headed(happening, "-", [f"{number:,} lines were not printed"], "red")
            case DoneCommand(command=letter, text=text, ok=ok):
                return self._headed(happening, letter, text.split("\n"), "cyan" if ok else "yellow")
        raise TypeError(happening)

    def _ready(self, ready: ReadyToServe) -> str:
        ours = f"{REQUESTS:,} requests a window; see --real-limits"
        limits = "those of production" if ready.real_limits else ours
        key = "were added to" if ready.is_added else "are in"
        lines = [
            f"Votegate for development serves on {ready.url}",
            "It deletes all data when it stops.",
            "",
            f"  your bot  {ready.bot_id}; its key and secret {key} {ready.env_file}",
            f"  webhooks  {ready.webhook}",
            f"  limits    {limits}",
            f"  guide     {ready.guide}",
            "",
        ]
        told = [*lines, KEYS, ""] if self._has_keys else lines
        return "\n".join(folded(each, self._columns, below=BELOW_LABEL) for each in told)

    def _request(self, told: AnsweredRequest) -> str:
        path = shown(told.path).replace(f"/bots/{self._bot_id}", f"/bots/{BOT_ID}")
        left = f"{told.remaining:,} left" if told.remaining is not None else ""
        if told.duration_ms >= SLOW_MS:
            left = f"{told.duration_ms / 1_000:.1f} s  {left}".rstrip()
        colour = "green" if told.status < 400 else "yellow" if told.status < 500 else "red"
        line = f"{shown(told.method):<5} {path}"
        room = self._columns - len(MARGIN) - len(left)
        lines = [f"{line:<{room}}{left}".rstrip()] if len(line) + 2 <= room or not left else [line, left]
        if told.by_key:
            lines.append("The key f made this answer.")
        lines += [told.error] if told.error is not None else []
        lines += [f"It was sent: {told.sent}"] if told.sent is not None else []
        lines += [f"retry-after: {told.retry_after}"] if told.retry_after is not None else []
        lines += [told.advice] if told.advice is not None else []
        lines += [told.guide] if told.guide is not None else []
        return self._headed(told, str(told.status), lines, colour, is_whole=True)

    def _delivery(self, told: AttemptedDelivery) -> str:
        named = "test" if told.test else told.type
        who = f" {'for' if told.test else 'of'} user {told.user}" if told.user is not None else ""
        line = f"{named}{who}, attempt {told.attempt}"
        if told.error is None:
            return self._headed(told, "->", [f"{line}: {told.status} after {told.duration_ms} ms"], "green")
        following = "given up"
        if told.retry_in is not None:
            following = f"the next attempt is in {told.retry_in} s" if told.retry_in else "it waits"
        lines = [f"{line}: failed ({told.error})", f"{told.reason}; {following}"]
        lines += [f"It answered: {told.answer}"] if told.answer is not None else []
        lines += [told.advice] if told.advice is not None else []
        lines += [told.guide] if told.guide is not None else []
        return self._headed(told, "->", lines, "yellow" if told.retry_in is not None else "red")

    def _headed(
        self, told: Happening, mark: str, lines: list[str], colour: str, *, is_whole: bool = False
    ) -> str:
        """Return folded lines behind the time and a coloured mark. If `is_whole`, the first is not folded."""
        first, *rest = (MARGIN + shown(each) for each in lines)
        first = first if is_whole else folded(first, self._columns, below=MARGIN)
        time = f"{datetime.fromtimestamp(told.at / 1_000):%H:%M:%S}"
        mark = f"{shown(mark):<3}"
        if self._has_colours:
            mark = click.style(mark, fg=colour)
        below = [folded(each, self._columns, below=MARGIN) for each in rest]
        return "\n".join([f"{time} {mark} {first.removeprefix(MARGIN)}", *below])

    @property
    def _columns(self) -> int:
        return max(min(self._width() or COLUMNS, COLUMNS), LEAST_COLUMNS)


def folded(text: str, columns: int, *, below: str) -> str:
    """Return a text folded to the columns. `below` begins each line but the first. No link is broken."""
    return textwrap.fill(
        text,
        columns,
        subsequent_indent=below,
        break_long_words=False,
        break_on_hyphens=False,
    )


def shown(text: str) -> str:
    """Return a text from outside without characters that would steer a terminal."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text
    )
