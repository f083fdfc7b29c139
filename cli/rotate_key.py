"""`rotate-key`: a new sealing key. Invariant: it drops no key that a file here needs, and prints none."""

import json
from contextlib import ExitStack

import click

from cli.local_folder import DataFolder, json_option
from cli.settings_port import on_data_folder
from snapshot.inspection import needed_keys
from storage.folder import KEYS, FolderInUse, FolderUnusable, alone, keep_keys, kept_keys
from storage.sealing import Keyring, new_key

GIVEN = (
    "the sealing keys come from the settings: put a new key (32 bytes in base64) before the old ones in "
    "sealing.keys, separated by a space, and send the gateway SIGHUP"
)


@click.command("rotate-key")
@on_data_folder
@click.option("--prune", is_flag=True, help="Drop the keys that no file in the data folder needs.")
@json_option
def rotate_key(data_folder: DataFolder, *, prune: bool, as_json: bool) -> None:
    """Create a new sealing key.

    A running gateway encrypts new files with it once you send SIGHUP; a stopped one does from its next start
    on. The older keys stay, because older files need them. To drop keys with --prune, stop the gateway first.
    """
    if data_folder.given_keys is not None:
        raise FolderUnusable(GIVEN)
    if not (data_folder.path / KEYS).exists():
        raise FolderUnusable(f"{data_folder.path / KEYS} is missing; the first start of a gateway creates it")
    with ExitStack() as stack:
        is_running = False
        try:
            keys = stack.enter_context(data_folder.hold(data_folder.path)).keys
        except FolderInUse as error:
            if prune:
                raise FolderUnusable(f"{error}; stop the gateway to drop keys") from None
            is_running = True
            stack.enter_context(alone(data_folder.path))
            keys = kept_keys(data_folder.path, needed=True)
        ring = keys.with_newest(new_key())
        dropped = _unneeded(data_folder, ring) if prune else set()
        kept = ring.without(dropped)
        keep_keys(data_folder.path, kept)
    newest, *older = [key_id.hex() for key_id in kept.key_ids]
    gone = sorted(key_id.hex() for key_id in dropped)
    if as_json:
        click.echo(json.dumps({"newest": newest, "older": older, "dropped": gone}))
        return
    begins = "the gateway seals with it once it gets SIGHUP" if is_running else "the next start seals with it"
    click.echo(f"newest key {newest}; {begins}")
    click.echo(f"older keys kept: {', '.join(older) or 'none'}")
    if prune:
        click.echo(f"keys dropped: {', '.join(gone) or 'none'}")
    if gone:
        click.echo("Backups sealed with them open only with a sealing.keys that still has them.", err=True)


def _unneeded(data_folder: DataFolder, ring: Keyring) -> set[bytes]:
    try:
        return set(ring.key_ids) - needed_keys(data_folder.path) - {ring.newest}
    except FolderUnusable as error:
        raise FolderUnusable(f"{error}; without --prune all keys are kept") from None
