"""The data folder that a command works on. Invariant: each problem with it is one line, and status 1.

The passphrase of a file of secrets comes from a terminal or a file, and is never shown.

Commands know neither the settings nor how a gateway opens its folder: `server.py` hands them a `DataFolder`.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from journal.segments import list_segments
from snapshot.export import ExportCorrupt, NotEmpty
from snapshot.files import SnapshotReader, list_snapshots
from snapshot.recovery import UNREADABLE, EmptyState
from storage.folder import KEYS, Folder, FolderInUse, FolderUnusable, kept_keys, what_to_do
from storage.sealing import MIN_PASSPHRASE, BadKeys, Keyring, keyring_of

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


PROBLEMS = (FolderUnusable, ExportCorrupt, NotEmpty, *UNREADABLE)


@dataclass(frozen=True)
class DataFolder:
    """A data folder, which may not exist yet."""

    path: Path
    given_keys: Keyring | None = field(repr=False)
    """The sealing keys of the settings, if they hold any."""
    hold: Callable[[Path], AbstractContextManager[Folder]]
    """Makes a folder if there is none, and locks it for this process. Raises FolderUnusable, OSError."""
    empty_state: EmptyState
    given_secrets: frozenset[str] = frozenset()
    """Names of the files whose secrets the settings give."""

    @contextmanager
    def held(self, meanwhile: str, at: Path | None = None) -> Iterator[Folder]:
        """Lock the folder, or the one that will take its place.

        `meanwhile` says what the user can do while a gateway has locked it.
        """
        with ExitStack() as stack:
            try:
                folder = stack.enter_context(self.hold(at or self.path))
            except FolderInUse as error:
                raise FolderUnusable(f"{error}; {meanwhile}") from None
            yield folder

    @property
    def has_data(self) -> bool:
        return self.path.is_dir() and bool(list_segments(self.path) or list_snapshots(self.path))

    def refuse_if_empty(self) -> None:
        if not self.has_data:
            raise FolderUnusable(
                f"{self.path} contains no journal and no snapshots; name another with --data-dir"
            )

    def keys_for(self, path: Path, keys_file: Path | None) -> Keyring:
        """Return the keys that open a file. Raises FolderUnusable, SnapshotCorrupt, OSError."""
        keys = self.keys_at_hand(path, keys_file)
        if keys is None:
            needed = SnapshotReader(path).header.key_id.hex()
            raise FolderUnusable(
                f"{path} is sealed with key {needed}, which is not here; name the sealing.keys file that "
                "contains it with --keys-file"
            )
        return keys

    def keys_at_hand(self, path: Path, keys_file: Path | None) -> Keyring | None:
        """Return the keys that open a file, None if they are not here. Raises like `keys_for`."""
        keys, needed = self._keys(keys_file), SnapshotReader(path).header.key_id
        return keys if keys is not None and needed in keys.key_ids else None

    def _keys(self, keys_file: Path | None) -> Keyring | None:
        if keys_file is not None:
            try:
                return keyring_of(keys_file.read_text(encoding="ascii"))
            except (BadKeys, UnicodeDecodeError):
                raise FolderUnusable(f"{keys_file} is not a list of sealing keys") from None
        if self.given_keys is None and (self.path / KEYS).exists():
            return kept_keys(self.path, needed=True)
        return self.given_keys


@contextmanager
def told_problems(path: Path, before: str = "") -> Iterator[None]:
    """Report each problem with a data folder, or with another file, in one line.

    `before` begins the lines about the disk, and about a command that was stopped.
    """
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"{before}{what_to_do(error, path)}") from None
    except PROBLEMS as error:
        raise click.ClickException(what_to_do(error, path)) from None
    except KeyboardInterrupt:
        raise click.ClickException(f"{before}the command was stopped") from None


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that it deletes what it has begun."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


keys_file_option = click.option(
    "--keys-file",
    type=click.Path(path_type=Path),
    help="File with sealing keys, if FILE needs others than the data folder.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
