"""`restore`: a data folder from a backup or an export. Invariant: it makes all of it, or nothing."""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from cli.local_folder import (
    DataFolder,
    json_option,
    keys_file_option,
    known_passphrase,
    stoppable,
    told_problems,
)
from cli.settings_port import on_data_folder
from cli.terminal import bars
from core.clock import SystemClock
from snapshot.export import counts_of
from snapshot.files import SnapshotReader
from snapshot.restore import Source, read_backup, read_export, refuse_unless_empty, restore_into, whole_folder
from storage.folder import (
    DIGEST_SECRET,
    KEYS,
    OPERATOR_TOKEN,
    SECRETS,
    FolderUnusable,
    keep_secret,
    kept_keys,
    kept_secret,
    refuse_exposed,
    refuse_foreign_files,
)
from storage.sealing import MAX_BYTES, BadKeys, Keyring, NotOpened, keyring_of, opened_secrets

WITHOUT = {
    KEYS: "nothing in the backup can be read without it",
    DIGEST_SECRET: "no API key works without it",
    OPERATOR_TOKEN: "the next start would create a new token",
}


class SecretFound(NamedTuple):
    """A secret that the new folder needs. `where` is empty if it is missing; `content` is to be written."""

    name: str
    where: str
    content: str | None = None


@click.command("restore")
@on_data_folder
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--secrets", "secrets_file", type=click.Path(path_type=Path), help="File of secrets of the backup."
)
@click.option(
    "--passphrase-file", type=click.Path(path_type=Path), help="File with the passphrase of the secrets."
)
@click.option("--allow-missing", is_flag=True, help="Restore even if a secret is missing that a start needs.")
@keys_file_option
@json_option
def restore(
    data_folder: DataFolder,
    source: Path,
    secrets_file: Path | None,
    passphrase_file: Path | None,
    keys_file: Path | None,
    *,
    allow_missing: bool,
    as_json: bool,
) -> None:
    """Build a new data folder from FILE.

    FILE is a backup, or the folder of an export. Before anything is made, the command says which secrets the
    folder needs and which it has. They come from the file of `backup --with-secrets`, from the settings, or
    from the new folder, if somebody has put them there.
    """
    with stoppable(), told_problems(data_folder.path, "nothing was restored: "):
        opened = _opened(secrets_file, passphrase_file) if secrets_file is not None else {}
        found = [_found(data_folder, name, opened, secrets_file) for name in SECRETS]
        wrong = _wrong_with_folder(data_folder)
        if not wrong:  # the lines would ask for secrets in a folder that is the wrong one
            click.echo(_lines(found, source, data_folder), err=True)
        keys = _refuse_unless_restorable(data_folder, source, opened, keys_file, wrong)
        if not allow_missing:
            _refuse_missing(found, OPERATOR_TOKEN)
        with bars() as bar:
            progress = bar(source.name)
            if keys is None:
                read = read_export(source, data_folder.empty_state, progress)
            else:
                read = read_backup(source, keys, data_folder.empty_state, progress)
            if not allow_missing and read.state.listings.key_count > 0:
                _refuse_missing(found, DIGEST_SECRET)
            _make(data_folder, found, read)
    answer = {"position": read.position, "digest": read.state.digest(), "rows": counts_of(read.state)}
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(answer), indent=2))
    else:
        click.echo(f"position {read.position}, digest {answer['digest']}")


def _opened(path: Path, passphrase_file: Path | None) -> dict[str, str]:
    """Return the secrets of a file. Raises FolderUnusable and OSError."""
    with path.open("rb") as file:
        content = file.read(MAX_BYTES)
    try:
        opened = opened_secrets(content, known_passphrase(passphrase_file))
        if KEYS in opened:
            keyring_of(opened[KEYS])
    except (NotOpened, BadKeys) as error:
        raise FolderUnusable(f"nothing was restored: {path}: {error}") from None
    return opened


def _found(
    data_folder: DataFolder, name: str, opened: Mapping[str, str], secrets_file: Path | None
) -> SecretFound:
    """Find a secret: the settings come before the new folder, as at a start. Raises FolderUnusable."""
    path = data_folder.path / name
    if name in data_folder.given_secrets:
        return SecretFound(name, "in the settings")
    if path.exists():
        if name in opened and kept_secret(data_folder.path, name, str) != opened[name]:
            raise FolderUnusable(f"{path} is another one than that of {secrets_file}; remove one of the two")
        return SecretFound(name, f"in {data_folder.path}")
    if name in opened:
        return SecretFound(name, f"in {secrets_file}", opened[name])
    return SecretFound(name, "")


def _lines(found: list[SecretFound], source: Path, data_folder: DataFolder) -> str:
    """Say which secrets the folder needs and which it has."""
    lines = [f"{data_folder.path} needs these secrets:"]
    for name, where, _ in found:
        is_made = name == KEYS and (source.is_dir() or data_folder.given_keys is not None)
        missing = "not needed: a new one is created" if is_made else f"MISSING: {WITHOUT[name]}"
        lines.append(f"  {name.ljust(len(DIGEST_SECRET))}  {where or missing}")
    return "\n".join(lines)


def _wrong_with_folder(data_folder: DataFolder) -> list[str]:
    """Return why the new folder cannot be filled, if it cannot."""
    try:
        if data_folder.path.exists():
            refuse_foreign_files(data_folder.path)
            refuse_exposed(data_folder.path)
            refuse_unless_empty(data_folder.path)
    except FolderUnusable as error:
        return [str(error)]
    return []


def _refuse_unless_restorable(
    data_folder: DataFolder,
    source: Path,
    opened: Mapping[str, str],
    keys_file: Path | None,
    wrong: list[str],
) -> Keyring | None:
    """Check before anything is made or read for long. Return the keys of a backup, None for an export.

    Raises FolderUnusable with all that is wrong, and SnapshotCorrupt.
    """
    keys: Keyring | None = None
    try:
        if not source.exists():
            raise FolderUnusable(f"{source} does not exist; name an export's folder or a backup")
        if not source.is_dir():
            keys = _keys_for(data_folder, source, opened, keys_file)
        if (data_folder.path / KEYS).exists():
            kept_keys(data_folder.path, needed=True)
    except FolderUnusable as error:
        wrong = [*wrong, str(error)]
    if wrong:
        raise FolderUnusable("; ".join(wrong))
    return keys


def _keys_for(
    data_folder: DataFolder, source: Path, opened: Mapping[str, str], keys_file: Path | None
) -> Keyring:
    needed = SnapshotReader(source).header.key_id
    if keys_file is None and KEYS in opened:
        keys = keyring_of(opened[KEYS])
        if needed in keys.key_ids:
            return keys
        raise FolderUnusable(
            f"{source} is sealed with key {needed.hex()}, which is not among the secrets: they are of "
            "another gateway, or older than its key"
        )
    at_hand = data_folder.keys_at_hand(source, keys_file)
    if at_hand is None:
        raise FolderUnusable(
            f"{source} is sealed with key {needed.hex()}, which is not here; name the file of secrets with "
            "--secrets, or a sealing.keys file with --keys-file"
        )
    return at_hand


def _refuse_missing(found: list[SecretFound], *needed: str) -> None:
    """Raise FolderUnusable if one of these secrets is missing."""
    missing = [name for name, where, _ in found if name in needed and not where]
    if missing:
        raise FolderUnusable(
            f"nothing was restored: {' and '.join(missing)} missing; name "
            "a file with --secrets, put it into the new folder, or add --allow-missing"
        )


def _make(data_folder: DataFolder, found: list[SecretFound], source: Source) -> None:
    with whole_folder(data_folder.path) as path, ExitStack() as stack:
        for name, _, content in found:
            if content is not None:
                keep_secret(path, name, content)
        folder = stack.enter_context(data_folder.held("restore needs an empty folder", at=path))
        refuse_unless_empty(path)
        restore_into(folder, source, SystemClock().now_ms())
