"""The values that the test gives, and the line that it reads."""

import json
import os

BASE, KEY, OPERATOR, BOT, USER, UNKNOWN = (
    os.environ[name] for name in ("BASE", "KEY", "OPERATOR", "BOT", "USER", "UNKNOWN")
)


def show(**shown: object) -> None:
    print(json.dumps(shown))  # noqa: T201 (the test reads it)
