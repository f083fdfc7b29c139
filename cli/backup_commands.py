"""`backup`: the state in one file, and the secrets in another if asked.

Invariant: a file is whole, or not there.

The state comes from the gateway that has locked the data folder, through the API. If none has, it comes from
the folder itself, which is locked until the end. A file gets its name when it is on disk and was read back.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from cli.caller import CallingCommand, GatewayCaller, connection_options, pass_caller
from cli.operations import BY_NAME
from cli.terminal import Bar, bars

if TYPE_CHECKING:
    from cli.local_folder import DataFolder

path_type = click.Path(path_type=Path)
force_option = click.option("--force", is_flag=True, help="Replace a file that is there already.")
keys_file_option = click.option(
    "--keys-file", type=path_type, help="File with the sealing keys, if the data folder is not here."
)


class Origin(NamedTuple):
    """A state to save. `digest_at` returns its digest at a position, None if it has gone on since."""

    pieces: Iterator[bytes]
    digest_at: Callable[[int], str | None]


@click.command("backup", cls=CallingCommand)
@click.argument("file", type=path_type)
@force_option
@keys_file_option
@pass_caller
def admin_backup(caller: GatewayCaller, file: Path, keys_file: Path | None, *, force: bool) -> None:
    """Download a backup.

    `backup` without `admin` does the same. It also works while no gateway runs, and can save the secrets.
    """
    from cli.local_folder import stoppable, told_problems

    data_folder = caller.data_folder
    with stoppable(), told_problems(data_folder.path, "nothing was saved: "):
        answer = _saved(data_folder, file, _of_gateway(caller), force=force, keys_file=keys_file)
    caller.show(answer)


@click.command("backup", cls=CallingCommand)
@click.argument("file", type=path_type)
@click.option("--with-secrets", "secrets_file", type=path_type, help="Save the secrets to this file, too.")
@click.option("--passphrase-file", type=path_type, help="File with the passphrase that seals the secrets.")
@force_option
@keys_file_option
@connection_options
@pass_caller
def backup(
    caller: GatewayCaller,
    file: Path,
    secrets_file: Path | None,
    passphrase_file: Path | None,
    keys_file: Path | None,
    *,
    force: bool,
) -> None:
    """Save the state to FILE, and the secrets to another file.

    The state comes from the running gateway. If none runs, it comes from the data folder. FILE is encrypted,
    and needs the sealing keys. The secrets are encrypted with a passphrase, which is asked for.
    """
    from cli.local_folder import new_passphrase, stoppable, told_problems
    from storage.folder import new_file
    from storage.sealing import sealed_secrets

    data_folder = caller.data_folder
    with stoppable(), told_problems(data_folder.path, "nothing was saved: "), ExitStack() as stack:
        _refuse_places(data_folder, file, secrets_file)
        if secrets_file is not None:
            saved = _secrets_of(data_folder)
            sealed = sealed_secrets(saved, new_passphrase(passphrase_file))
            written = stack.enter_context(new_file(secrets_file, force=force))  # named when the stack closes
            written.write(sealed)
        origin = _of_gateway(caller) if caller.is_named else _of_folder_or_gateway(stack, caller)
        is_ours = secrets_file is not None
        answer = _saved(data_folder, file, origin, force=force, keys_file=keys_file, is_ours=is_ours)
        if secrets_file is not None:
            given = sorted(data_folder.given_secrets)
            answer |= {
                "secrets_file": str(secrets_file),
                "secrets": sorted(saved),
                "secrets_of_settings": given,
            }
    caller.show(answer)


def _refuse_places(data_folder: "DataFolder", file: Path, secrets_file: Path | None) -> None:
    """Raise FolderUnusable for two files that are one, and for files in the data folder."""
    from storage.folder import FolderUnusable

    for path in (file, secrets_file):
        if path is not None and path.resolve().is_relative_to(data_folder.path.resolve()):
            raise FolderUnusable(f"{path} is in the data folder; name another folder")
    if secrets_file is not None and secrets_file.resolve() == file.resolve():
        raise FolderUnusable("the secrets need a file of their own, to be kept elsewhere")


def _secrets_of(data_folder: "DataFolder") -> dict[str, str]:
    """Return the secrets in the data folder by their file names, but for those that the settings give."""
    from storage.folder import SECRETS, FolderUnusable, kept_secret

    names = [
        name
        for name in SECRETS
        if name not in data_folder.given_secrets and (data_folder.path / name).exists()
    ]
    if not names and not data_folder.given_secrets:
        raise FolderUnusable(
            f"{data_folder.path} holds no secrets; save them on the machine of the gateway, and name its "
            "--data-dir"
        )
    return {name: kept_secret(data_folder.path, name, str) for name in names}


def _of_gateway(caller: GatewayCaller) -> Origin:
    def digest_at(position: int) -> str | None:
        stored = caller.call("showData")
        return str(stored["digest"]) if stored["positions"]["head"] == position else None

    return Origin(caller.remote.pieces(BY_NAME["backUp"].path), digest_at)


def _of_folder_or_gateway(stack: ExitStack, caller: GatewayCaller) -> Origin:
    """Return the state of the folder, locked until the stack closes, or of the gateway that has locked it."""
    from blobs.sealed_blobs import SealedBlobs
    from core.clock import SystemClock
    from snapshot.recovery import recover
    from snapshot.restore import Source, backup_pieces
    from storage.folder import FolderInUse

    data_folder = caller.data_folder
    if not data_folder.has_data:
        return _of_gateway(caller)
    try:
        folder = stack.enter_context(data_folder.hold(data_folder.path))
    except FolderInUse:
        return _of_gateway(caller)
    recovered = recover(folder, data_folder.empty_state)
    source = Source(recovered.state, recovered.tail.head, SealedBlobs(folder).whole)
    pieces = backup_pieces(source, folder.keys, SystemClock().now_ms())
    return Origin(pieces, lambda _: source.state.digest())


def _saved(
    data_folder: "DataFolder",
    file: Path,
    origin: Origin,
    *,
    force: bool,
    keys_file: Path | None,
    is_ours: bool = False,
) -> dict[str, object]:
    """Write the backup and read it back. Return the answer to show.

    With `is_ours`, the secrets of the data folder are saved, too. So they must open the backup.
    """
    from storage.folder import new_file

    with bars() as bar, new_file(file, force=force) as written:
        progress = bar(file.name)
        for piece in origin.pieces:
            written.write(piece)
            progress(written.size, 0)
        written.sync()
        answer = _read_back(data_folder, written.path, keys_file, bar)
        position, digest = answer["position"], answer["digest"]
        if is_ours and digest is None:
            raise click.ClickException(
                f"nothing was saved: the sealing keys in {data_folder.path} do not open this backup, so the "
                "folder is that of another gateway"
            )
        if isinstance(position, int) and origin.digest_at(position) not in {None, digest}:
            raise click.ClickException("nothing was saved: the backup has another digest than the state")
    return {"success": True, "file": str(file), "bytes": written.size, **answer}


def _read_back(
    data_folder: "DataFolder", path: Path, keys_file: Path | None, bar: Callable[[str], Bar]
) -> dict[str, object]:
    from snapshot.files import SnapshotReader
    from snapshot.restore import read_backup

    key, keys = SnapshotReader(path).header.key_id.hex(), data_folder.keys_at_hand(path, keys_file)
    if keys is None:
        click.echo(f"not read back: sealing key {key} is not here; see --keys-file", err=True)
        return {"position": None, "digest": None, "sealing_key": key}
    source = read_backup(path, keys, data_folder.empty_state, bar("reading it back"))
    return {"position": source.position, "digest": source.state.digest(), "sealing_key": key}
