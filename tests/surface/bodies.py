"""Generated bodies: valid ones with mistakes, objects with random fields, and bytes that are no JSON."""

import json
import random
from collections.abc import Callable
from typing import Any

Body = dict[str, Any]
TEXTS = (
    *("", " ", "a", "x" * 16, "x" * 32, "x" * 33, "x" * 100, "x" * 101, "x" * 150, "x" * 151, "x" * 256),
    *(
        "x" * 257,
        "x" * 512,
        "x" * 513,
        "x" * 1_000,
        "x" * 1_001,
        "x" * 2_048,
        "x" * 8_193,
        "é" * 100,
        "🎵" * 50,
    ),
    *(
        " lead",
        "trail ",
        "two\nlines",
        "tab\there",
        "nul\0",
        "bell\x07",
        "bidi \u202e text",
        "iso \u2066 late",
    ),
    *("zero\u200bwidth", "e\u0301 decomposed", "<b>bold</b>", "\u2028", "بوت الموسيقى", "音楽", "\ufeffbom"),
)
IDS = (
    *("0", "1", "0" * 18, "0" + "1" * 17, "1" * 16, "1" * 17, "1" * 20, "9" * 20, "18446744073709551615"),
    *("18446744073709551616", "-" + "1" * 17, "１" * 18, " " + "1" * 17, "444444444444444444", "a" * 18),
)
URLS = (
    *(
        "https://bot.example",
        "http://bot.example/",
        "https://bot.example:443/a?b=c#d",
        "ftp://bot.example",
        "//x",
    ),
    *(
        "https://",
        "https://user:secret@bot.example/",
        "https://bot.example:25/",
        "https://127.0.0.1/",
        "http://[::1]/",
    ),
    *(
        "https://bot .example",
        "https://bot.example:99999",
        "javascript:alert(1)",
        "https://" + "a" * 2_100 + ".example",
    ),
    *(
        "https://discord.com/api/webhooks/123456789012345678/token",
        "https://discord.com/other",
        "http://169.254.1.1/",
    ),
    *(
        "https://münchen.example/",
        "HTTPS://BOT.EXAMPLE",
        "https://bot.example\\@evil.example",
        "http://0x7f.1/",
    ),
)
NUMBERS = (
    *(-1, 0, 1, 2, 49, 50, 999, 1_000, 1_001, 10_000_000, 10_000_001, 2_592_000, 2_592_001, 1 << 31, 1 << 53),
    *((1 << 53) - 1, 1 << 63, 10**30, 0.0, 1.0, 1.5, -0.0, 1e308, 1_750_000_000_000, 1_750_086_400_000),
)
OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [None], ["a", "a"], {"a": 1}, [[]], [1, "1"])
RAW = (
    *(b"", b" ", b"{", b"}", b"{}", b"[]", b"null", b"true", b"1", b'"text"', b"{} {}", b'{"a": NaN}'),
    *(b'{"name": "a", "name": "b"}', b'{"user": 1, "user": 1}', b'{"name": "\\ud800"}', b"\xef\xbb\xbf{}"),
    *(b'{"name": "\xff"}', b'{"name": Infinity}', b"{'name': 1}", b'{"name": "a",}', b"[" * 5_000),
    *(
        b'{"name": "' + b"x" * 65_536 + b'"}',
        b'{"a": {"b": 1, "b": 2}}',
        b"\x00",
        b'{"": ""}',
        b'{"reason": 1e999}',
    ),
)


def generated(dice: random.Random, valid: Callable[[random.Random], Body]) -> bytes:
    """Return a body: half of them are nearly valid."""
    roll = dice.random()
    body = valid(dice)
    if roll < 0.15:
        return written(dice, body)
    if roll < 0.65:
        for _ in range(dice.choice((1, 1, 1, 2, 3))):
            spoil(dice, body)
        return written(dice, body)
    if roll < 0.92:
        names = [*body, "name", "user", "reason", "unknown"]
        return written(
            dice, {name: any_value(dice) for name in dice.sample(names, dice.randrange(len(names)))}
        )
    if roll < 0.96:
        return dice.choice(RAW)
    return broken(dice, written(dice, body))


def written(dice: random.Random, body: Body) -> bytes:
    return json.dumps(body, ensure_ascii=dice.random() < 0.5).encode("utf-8", "surrogatepass")


def broken(dice: random.Random, text: bytes) -> bytes:
    """Cut a text off, or change one byte of it."""
    at = dice.randrange(len(text))
    return text[:at] if dice.random() < 0.5 else text[:at] + bytes([dice.randrange(256)]) + text[at + 1 :]


def spoil(dice: random.Random, body: Body) -> None:
    """Make one mistake, or one change that may be valid."""
    names = list(body)
    if not names or dice.random() < 0.08:
        body[dice.choice(("unknown", "Name", "id", "owner_id"))] = any_value(dice)
        return
    name = dice.choice(names)
    value, roll = body[name], dice.random()
    if roll < 0.15:
        del body[name]
    elif roll < 0.55:
        body[name] = near(dice, value)
    else:
        body[name] = any_value(dice)


def near(dice: random.Random, value: Any) -> Any:
    """Return a value of the same form."""
    if isinstance(value, bool) or value is None:
        return dice.choice((True, False, None, 0, 1, "true"))
    if isinstance(value, int | float):
        return dice.choice((*NUMBERS, str(value), float(value), value + 1, value - 1))
    if isinstance(value, str):
        kind = URLS if "://" in value else IDS if value.isdigit() else TEXTS
        return dice.choice((*kind, value + "x", value[:-1], value.upper(), value * 2))
    if isinstance(value, list):
        other = near(dice, dice.choice(value)) if value else any_value(dice)
        return dice.choice(
            ([], value[:1], value * 2, [*value, other], [other], value * 60, [*value, *value[:1]])
        )
    return {**value, dice.choice((*value, "unknown")): any_value(dice)}


def any_value(dice: random.Random) -> Any:
    kind = dice.choice((TEXTS, IDS, URLS, NUMBERS, OTHERS))
    return dice.choice(kind)
