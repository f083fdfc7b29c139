"""The problems in pushes of counts, for the bot's owner. Invariant: they hold names and types, never a value.

Clients of other platforms send other field names, or the counts inside a text, and their authors never look
at the answer. Problems are kept in memory only: the next push shows them again, and none is worth a record.
All sizes are bounded, because everyone with a key chooses the names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from core.newest import Newest
from kinds.registry import PUSHED
from languages.said import Code

MAX_BOTS = 1_000
FIELDS_PER_BOT = 8
NAME_CHARACTERS = 64

Problem = Literal["ignored", "refused"]
JsonType = Literal["null", "boolean", "number", "string", "array", "object"]

_TYPES: Mapping[type, JsonType] = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_FIELDS = {"server_count", "command_count"}
_IGNORED = {
    **dict.fromkeys(
        ("servers", "servers_count", "serverCount", "guilds", "guild_count", "guildCount"),
        "The field is named server_count.",
    ),
    **dict.fromkeys(
        ("commands", "commands_count", "commandCount", "commandsCount"), "The field is named command_count."
    ),
    "body": "The counts stand in the JSON object itself, not in a text inside of it.",
}
_REFUSED: Mapping[str, tuple[str, str]] = {
    "server_count_out_of_range": (
        "server_count",
        f"It must be an integer from 0 to {PUSHED['server_count']:,}.",
    ),
    "command_count_out_of_range": (
        "command_count",
        f"It must be an integer from 0 to {PUSHED['command_count']:,}.",
    ),
    "server_count_too_far_off": ("server_count", "It is too far off from the actual server count."),
}


@dataclass(frozen=True, slots=True)
class StatsProblem:
    """A field that was ignored or refused: its name (cut, readable), its last type, how often and when."""

    field: str
    problem: Problem
    given: JsonType
    reason: str
    times: int
    last_ms: int


class StatsProblems:
    """The latest problems of each bot, for the bots that had some recently."""

    def __init__(self, bots: int = MAX_BOTS) -> None:
        self._bots = Newest[str, Newest[str, StatsProblem]](bots)

    def __len__(self) -> int:
        return len(self._bots)

    def note(self, ref: str, body: Mapping[str, Any], refusal: Code | None, now_ms: int) -> None:
        """Note the problems of a push with a valid key. `refusal` is the code of its refusal, if any."""
        seen = 0
        for name, value in body.items():
            if name not in _FIELDS and (seen := seen + 1) <= FIELDS_PER_BOT:
                self._add(ref, name, "ignored", value, _IGNORED.get(name, "There is no such field."), now_ms)
            elif seen > FIELDS_PER_BOT:
                break
        refused, reason = _REFUSED.get(refusal or "", ("", ""))
        if refused:  # last, so that no other field of the push displaces it
            self._add(ref, refused, "refused", body[refused], reason, now_ms)

    def of(self, ref: str) -> list[StatsProblem]:
        """Return the problems of a bot, newest first."""
        found = self._bots.get(ref)
        return [*reversed(found.values())] if found is not None else []

    def forget(self, ref: str) -> None:
        self._bots.pop(ref, None)

    def _add(self, ref: str, name: str, problem: Problem, value: Any, reason: str, now_ms: int) -> None:
        fields = self._bots[ref] = self._bots.get(ref) or Newest(FIELDS_PER_BOT)
        cut = _seen(name[:NAME_CHARACTERS])[:NAME_CHARACTERS]
        known = fields.get(cut)
        times = 1 if known is None else known.times + 1
        fields[cut] = StatsProblem(cut, problem, _TYPES[type(value)], reason, times, now_ms)


def _seen(name: str) -> str:
    """Return the name with invisible characters and direction controls escaped, as `\\u200b`."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)
