"""The passphrase of a file of secrets. Invariant: it comes from a terminal or a file, and is never shown."""

import sys
from pathlib import Path

import click

from storage.sealing import MIN_PASSPHRASE

_HOW = "name a file with --passphrase-file"


def new_passphrase(path: Path | None) -> str:
    """Return a passphrase to seal with. It is asked for twice."""
    passphrase = _in_file(path) if path is not None else _typed("Passphrase for the secrets", is_new=True)
    if len(passphrase) < MIN_PASSPHRASE:
        raise click.ClickException(
            f"the passphrase is too short: it needs {MIN_PASSPHRASE} characters or more"
        )
    return passphrase


def known_passphrase(path: Path | None) -> str:
    """Return the passphrase to open a file with."""
    return _in_file(path) if path is not None else _typed("Passphrase of the secrets", is_new=False)


def _typed(prompt: str, *, is_new: bool) -> str:
    if not sys.stdin.isatty():
        raise click.ClickException(f"nobody can type the passphrase without a terminal; {_HOW}")
    passphrase: str = click.prompt(prompt, hide_input=True, confirmation_prompt=is_new, err=True)
    return passphrase


def _in_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise click.ClickException(f"no passphrase: {path}: {reason}") from None
