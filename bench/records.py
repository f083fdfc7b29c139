"""One record of a vote and its delivery: msgspec beside ujson with dataclasses.

Needs ujson beside the project's requirements: .venv/bin/python -m pip install ujson==6.1.0
"""

import dataclasses
import importlib
from typing import Any

from bench.timing import microseconds
from core.events import DeliveryQueued, Event, VoteCast, decode_record, encode_record
from handlers.reply import encode_json

ujson: Any = importlib.import_module("ujson")  # no dependency of ours: here to be compared with
REF, USER, NOW_MS = "bots/123456789012345678", "323456789012345678", 1_750_000_000_000


@dataclasses.dataclass(frozen=True, slots=True)
class Vote:
    ref: str
    user: str
    count: int
    at_ms: int


@dataclasses.dataclass(frozen=True, slots=True)
class Queued:
    delivery_id: str
    ref: str
    user: str
    test: bool
    at_ms: int


TYPES: dict[str, type[Any]] = {"Vote": Vote, "Queued": Queued}
FIELDS = {kind: [field.name for field in dataclasses.fields(kind)] for kind in TYPES.values()}


def encode(events: list[Any]) -> str:
    named = [[type(e).__name__, {name: getattr(e, name) for name in FIELDS[type(e)]}] for e in events]
    text: str = ujson.dumps(named)
    return text


def decode(record: str) -> list[Any]:
    return [TYPES[name](**fields) for name, fields in ujson.loads(record)]


def main() -> None:
    ours: list[Event] = [
        VoteCast(REF, USER, 3, NOW_MS),
        DeliveryQueued("0" * 24, REF, USER, test=False, at_ms=NOW_MS),
    ]
    theirs = [Vote(REF, USER, 3, NOW_MS), Queued("0" * 24, REF, USER, False, NOW_MS)]
    record, text = encode_record(ours), encode(theirs)
    reply = {"voted": True, "vote": 3, "lastVote": NOW_MS}
    print("| | ujson and dataclasses | msgspec |\n| --- | ---: | ---: |")
    for name, by_ujson, by_msgspec in (
        ("encode the record", lambda: encode(theirs), lambda: encode_record(ours)),
        ("decode it", lambda: decode(text), lambda: decode_record(record)),
        ("make one event", lambda: Vote(REF, USER, 3, NOW_MS), lambda: VoteCast(REF, USER, 3, NOW_MS)),
        ("encode a vote-status reply", lambda: ujson.dumps(reply), lambda: encode_json(reply)),
    ):
        print(f"| {name} | {microseconds(by_ujson):.2f} us | {microseconds(by_msgspec):.2f} us |")


if __name__ == "__main__":
    main()
