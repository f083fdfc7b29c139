"""The permissions of the data folder. Invariant: only its user and root may change it or read its secrets.

Otherwise the gateway refuses to start. Other users who may write the folder could plant files and links in it
for the gateway to follow, and a sticky bit does not stop them. The refusal names everything that is wrong at
once, with one command that fixes it.
"""

import os
import shlex
import stat
from pathlib import Path

from storage.folder import DIGEST_SECRET, KEYS, OPERATOR_TOKEN, FolderUnusable

SECRETS = (KEYS, DIGEST_SECRET, OPERATOR_TOKEN)
_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ANY = stat.S_IRWXG | stat.S_IRWXO


def refuse_exposed(folder: Path) -> None:
    """Raise FolderUnusable if others may write the folder, or read or change a secret in it."""
    user, whole = os.geteuid(), folder.stat()
    if whole.st_uid not in {0, user}:
        raise FolderUnusable(
            f"{folder} belongs to user {whole.st_uid}, and this process is user {user}; run it as the "
            f"folder's user, or fix it with: {_command(f'chown -R {user}', folder)}"
        )
    is_open = bool(whole.st_mode & _WRITE)
    if is_open and whole.st_mode & stat.S_ISVTX:
        raise FolderUnusable(
            f"{folder} is shared with others, who could plant files in it; name a folder in it as data_dir, "
            f"such as {folder / 'votegate'}: it is made for this user alone"
        )
    problems, given, shut = [], [], []
    if is_open:
        problems.append(f"{folder} can be written by others ({_mode(whole)}), who could plant files in it")
    for path, status in _secrets(folder):
        is_foreign, is_exposed = status.st_uid not in {0, user}, bool(status.st_mode & _ANY)
        if is_foreign:
            problems.append(f"{path} belongs to user {status.st_uid}")
        if is_exposed:
            problems.append(f"{path} can be read or changed by others ({_mode(status)})")
        if (is_foreign or is_exposed) and status.st_uid != user:
            given.append(path)
        if is_exposed:
            shut.append(path)
    if problems:
        commands = [
            *([_command(f"chown {user}", folder)] if is_open and whole.st_uid != user else []),
            *([_command("chmod go-w", folder)] if is_open else []),
            *([_command(f"chown {user}", *given)] if given else []),
            *([_command("chmod go=", *shut)] if shut else []),
        ]
        raise FolderUnusable(f"{', and '.join(problems)}; fix it with: {' && '.join(commands)}")


def _secrets(folder: Path) -> list[tuple[Path, os.stat_result]]:
    paths = [folder / name for name in SECRETS]
    return [(path, path.lstat()) for path in paths if os.path.lexists(path)]


def _mode(status: os.stat_result) -> str:
    return f"mode {stat.S_IMODE(status.st_mode):04o}"


def _command(command: str, *paths: Path) -> str:
    return f"{command} {shlex.join(map(str, paths))}"
