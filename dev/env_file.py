"""The file with the key and the secret of the demo bot, which a bot reads its environment from.

Invariant: a file that `votegate dev` has not written is never changed, nor a line that a developer has added
to ours, and only its user can read ours.

The key and the secret outlive the gateway, so that a bot goes on when the gateway is started again.
"""

import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from storage.folder import new_file

HEAD = "# Written by `votegate dev`, which may overwrite it. The key and the secret work nowhere else."
_LINE = re.compile(r"^([A-Z_]+)=(\S*)$", re.MULTILINE)
_KEY, _SECRET = re.compile(r"vg_[A-Za-z0-9_-]{43}"), re.compile(r"whsec_[A-Za-z0-9+/]{43}=")
MOST_BYTES = 65_536
_AS_IT_IS = ("utf-8", "surrogateescape")


class NotOurs(Exception):
    """The path has something that `votegate dev` has not written."""


class Credentials(NamedTuple):
    """The key of the demo bot, and the secret that signs its webhooks."""

    key: str
    secret: str


def read_credentials(path: Path) -> Credentials | None:
    """Return what an earlier gateway has written; None without a file, or if it has no whole values.

    Raises NotOurs, and OSError.
    """
    named = dict(_LINE.findall(_read(path)))
    key, secret = named.get("API_KEY", ""), named.get("WEBHOOK_SECRET", "")
    return Credentials(key, secret) if _KEY.fullmatch(key) and _SECRET.fullmatch(secret) else None


def _read(path: Path) -> str:
    """Return the file of an earlier gateway, "" if there is none. Raises NotOurs, and OSError."""
    if not os.path.lexists(path):
        return ""
    descriptor = -1
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        text = os.read(descriptor, MOST_BYTES + 1).decode(*_AS_IT_IS) if is_file else ""
    except OSError as error:
        if not path.is_symlink():
            raise
        raise NotOurs from error
    finally:
        if descriptor != -1:
            os.close(descriptor)
    if not text.startswith(HEAD) or len(text.encode(*_AS_IT_IS)) > MOST_BYTES:
        raise NotOurs
    return text


def env_lines(url: str, bot_id: str, credentials: Credentials) -> list[str]:
    """Return the variables. The examples of docs/api.md and docs/webhooks.md read them, too."""
    named = {
        "API": url,
        "BOT_ID": bot_id,
        "API_KEY": credentials.key,
        "WEBHOOK_SECRET": credentials.secret,
    }
    return [f"{name}={value}" for name, value in named.items()]


def write_env(path: Path, url: str, bot_id: str, credentials: Credentials) -> None:
    """Write the file, or the file of an earlier gateway again with the lines that a developer has added.

    Raises NotOurs, and OSError.
    """
    ours = env_lines(url, bot_id, credentials)
    names = tuple(line.partition("=")[0] + "=" for line in ours)
    added = [line for line in _read(path).split("\n") if line != HEAD and not line.startswith(names)]
    if added and not added[-1]:  # behind the last line feed
        del added[-1]
    with new_file(path, force=True) as file:
        file.write("".join(f"{line}\n" for line in [HEAD, *ours, *added]).encode(*_AS_IT_IS))
