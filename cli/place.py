"""The data folder that a command works on. Law: each problem with it is one line of text, and status 1.

Commands know neither the settings nor how a gateway opens its folder: `server.py` hands them a `Place`.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from journal.segments import list_segments
from snapshot.export import NotEmpty
from snapshot.export_format import ExportCorrupt
from snapshot.files import SnapshotReader, list_snapshots
from snapshot.recovery import UNREADABLE, EmptyState
from snapshot.verification import Bars
from storage.folder import KEYS, Folder, FolderInUse, FolderUnusable, kept_keys, what_to_do
from storage.sealing import BadKeys, Keyring, keyring_of

PROBLEMS = (FolderUnusable, ExportCorrupt, NotEmpty, *UNREADABLE)


@dataclass(frozen=True)
class Place:
    """A data folder, which may not exist yet."""

    path: Path
    given_keys: Keyring | None = field(repr=False)
    """The sealing keys of the settings, if they hold any."""
    hold: Callable[[], AbstractContextManager[Folder]]
    """Makes the folder if there is none, and locks it for this process. Raises FolderUnusable, OSError."""
    empty_state: EmptyState
    given_secrets: frozenset[str] = frozenset()
    """Names of the files whose secrets the settings give."""

    @contextmanager
    def held(self, meanwhile: str) -> Iterator[Folder]:
        """Lock the folder. `meanwhile` tells the user what to do while a gateway holds it."""
        with ExitStack() as stack:
            try:
                folder = stack.enter_context(self.hold())
            except FolderInUse as error:
                raise FolderUnusable(f"{error}; {meanwhile}") from None
            yield folder

    def refuse_if_empty(self) -> None:
        if not (self.path.is_dir() and (list_segments(self.path) or list_snapshots(self.path))):
            raise FolderUnusable(
                f"{self.path} contains no journal and no snapshots; name another with --data-dir"
            )

    def missing(self, secret: str) -> bool:
        """Return True if neither the folder nor the settings hold the secret of this file name."""
        return secret not in self.given_secrets and not (self.path / secret).exists()

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


OpenPlace = Callable[[Path | None, Path | None], Place]
"""Makes a place from the options --config and --data-dir."""


def on_data_folder(command: Callable[..., None]) -> Callable[..., None]:
    """Hand a command its place, and report its problems."""

    def with_place(
        open_place: OpenPlace, /, config: Path | None, data_dir: Path | None, **arguments: Any
    ) -> None:
        place = open_place(config, data_dir)
        try:
            command(place, **arguments)
        except PROBLEMS as error:
            raise click.ClickException(what_to_do(error, place.path)) from None

    functools.update_wrapper(with_place, command)
    return config_option(data_dir_option(click.pass_obj(with_place)))


config_option = click.option("--config", type=click.Path(path_type=Path), help="Settings file in YAML.")
data_dir_option = click.option("--data-dir", type=click.Path(path_type=Path), help="Data folder (data_dir).")
keys_file_option = click.option(
    "--keys-file",
    type=click.Path(path_type=Path),
    help="File with sealing keys, if FILE needs others than the data folder.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


@contextmanager
def bars() -> Iterator[Bars]:
    """Show progress bars on standard error, if that is a terminal."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    console, is_seen = Console(stderr=True), sys.stderr.isatty()
    with Progress(*columns, console=console, transient=True, disable=not is_seen) as progress:

        def bar(name: str) -> Callable[[int, int], None]:
            task = progress.add_task(escape(name), total=None)
            return lambda done, total: progress.update(task, completed=done, total=total or None)

        yield bar
