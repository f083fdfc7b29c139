"""The `.env` file: the variables of the demo bot, with its key and its secret.

Invariant: a file that `votegate dev` has not written is never changed, and only its user can read ours.

The key and the secret outlive the gateway, so a bot still works when the gateway is started again.
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


class NotOurs(Exception):
    """There is something else at the path: `votegate dev` has not written it."""


class Credentials(NamedTuple):
    """The key of the demo bot, and the secret that signs its webhooks."""

    key: str
    secret: str


def read_credentials(path: Path) -> Credentials | None:
    """Return the key and the secret of an earlier gateway; None if there is no file, or a value is damaged.

    Raises NotOurs, and OSError.
    """
    if not os.path.lexists(path):
        return None
    descriptor = -1
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        text = os.read(descriptor, MOST_BYTES).decode("utf-8", "replace") if is_file else ""
    except OSError as error:
        if not path.is_symlink():
            raise
        raise NotOurs from error
    finally:
        if descriptor != -1:
            os.close(descriptor)
    if not text.startswith(HEAD):
        raise NotOurs
    named = dict(_LINE.findall(text))
    key, secret = named.get("API_KEY", ""), named.get("WEBHOOK_SECRET", "")
    return Credentials(key, secret) if _KEY.fullmatch(key) and _SECRET.fullmatch(secret) else None


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
    """Write the file, or overwrite that of an earlier gateway. Raises NotOurs, and OSError."""
    read_credentials(path)
    lines = [HEAD, *env_lines(url, bot_id, credentials)]
    with new_file(path, force=True) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
