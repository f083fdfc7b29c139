"""The lines of `votegate dev` in an `.env` file, with the key and the secret of the demo bot.

Invariant: only our own lines are ever changed, and only the file's user can read it afterwards.

The key and the secret outlive the gateway, so a bot still works when the gateway is started again. A file
without these names gets our lines at its end.
"""

import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from storage.folder import new_file

HEAD = "# The next four lines are those of `votegate dev`, which may change them. They work nowhere else."
NAMES = ("API", "BOT_ID", "API_KEY", "WEBHOOK_SECRET")
_NAMED = re.compile(rf"\s*(?:export\s+)?({'|'.join(NAMES)})\s*=(.*)")
_KEY, _SECRET = re.compile(r"vg_[A-Za-z0-9_-]{43}"), re.compile(r"whsec_[A-Za-z0-9+/]{43}=")
MOST_BYTES = 65_536


class NotOurs(Exception):
    """The path is no small file, or it has other values of our names."""


class Credentials(NamedTuple):
    """The key of the demo bot, and the secret that signs its webhooks."""

    key: str
    secret: str


class _Parts(NamedTuple):
    """The lines of a file, with their ends. `has_ours` is true if `votegate dev` has written to it."""

    before: list[str]
    ours: list[str]
    after: list[str]
    has_ours: bool


def read_credentials(path: Path) -> Credentials | None:
    """Return the key and the secret of an earlier gateway; None if there is no file, or a value is damaged.

    Raises NotOurs, and OSError.
    """
    matches = [_NAMED.match(line) for line in _read(path).ours]
    named = {match[1]: match[2].strip() for match in matches if match is not None}
    key, secret = named.get("API_KEY", ""), named.get("WEBHOOK_SECRET", "")
    return Credentials(key, secret) if _KEY.fullmatch(key) and _SECRET.fullmatch(secret) else None


def env_lines(url: str, bot_id: str, credentials: Credentials) -> list[str]:
    """Return the variables. The examples of docs/api.md and docs/webhooks.md read them, too."""
    values = (url, bot_id, credentials.key, credentials.secret)
    return [f"{name}={value}" for name, value in zip(NAMES, values, strict=True)]


def write_env(path: Path, url: str, bot_id: str, credentials: Credentials) -> bool:
    """Write our lines, and keep all others. Return true if the file was there without ours.

    Raises NotOurs, and OSError.
    """
    parts = _read(path)
    before = "".join(parts.before)
    if before and not before.endswith("\n"):
        before += "\n"
    ours = "".join(f"{line}\n" for line in (HEAD, *env_lines(url, bot_id, credentials)))
    with new_file(path, force=True) as file:
        file.write((before + ours + "".join(parts.after)).encode("utf-8", "surrogateescape"))
    return bool(parts.before) and not parts.has_ours


def _read(path: Path) -> _Parts:
    lines = _content(path).splitlines(keepends=True)
    heads = [at for at, line in enumerate(lines) if line.rstrip() == HEAD]
    start = heads[0] if heads else len(lines)
    end = start + 1
    while end < len(lines) and _NAMED.match(lines[end]):
        end += 1
    parts = _Parts(lines[:start], lines[start + 1 : end], lines[end:], bool(heads))
    if any(_NAMED.match(line) for line in (*parts.before, *parts.after)):
        raise NotOurs
    return parts


def _content(path: Path) -> str:
    """Return the text of a file; empty if there is none. It follows no link, and waits for no pipe."""
    if not os.path.lexists(path):
        return ""
    if path.is_symlink():
        raise NotOurs
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotOurs
        content = os.read(descriptor, MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MOST_BYTES:
        raise NotOurs
    return content.decode("utf-8", "surrogateescape")
