"""`rotate-key`: a new sealing key. Law: it drops no key that a file here needs, and prints none."""

import json

import click

from cli.place import Place, json_option, on_data_folder
from snapshot.inspection import found_in
from storage.folder import KEYS, Folder, FolderUnusable, keep_keys
from storage.sealing import Keyring, new_key

GIVEN = (
    "the sealing keys come from the settings: put a new key (32 bytes in base64) before the old ones in "
    "sealing.keys, separated by a space, and restart"
)


@click.command("rotate-key")
@on_data_folder
@click.option("--prune", is_flag=True, help="Drop the keys that no file in the data folder needs.")
@json_option
def rotate_key(place: Place, prune: bool, as_json: bool) -> None:
    """Create a new sealing key.

    From the next start on it encrypts all new files. The older keys stay, because older files need them.
    Stop the gateway first.
    """
    if place.given_keys is not None:
        raise FolderUnusable(GIVEN)
    if not (place.path / KEYS).exists():
        raise FolderUnusable(f"{place.path / KEYS} is missing; the first start of a gateway creates it")
    with place.held("stop the gateway to change its key") as folder:
        ring = folder.keys.with_newest(new_key())
        dropped = _unneeded(folder, ring) if prune else set()
        kept = ring.without(dropped)
        keep_keys(folder.path, kept)
    newest, *older = [key_id.hex() for key_id in kept.key_ids]
    gone = sorted(key_id.hex() for key_id in dropped)
    if as_json:
        click.echo(json.dumps({"newest": newest, "older": older, "dropped": gone}))
        return
    click.echo(f"newest key {newest}; the next start seals with it")
    click.echo(f"older keys kept: {', '.join(older) or 'none'}")
    if prune:
        click.echo(f"keys dropped: {', '.join(gone) or 'none'}")
    if gone:
        click.echo("Backups sealed with them open only with a sealing.keys that still has them.", err=True)


def _unneeded(folder: Folder, ring: Keyring) -> set[bytes]:
    """Return the keys that no segment and no snapshot needs.

    A torn write needs the key and the header of its segment. Raises FolderUnusable if a file does not tell
    its key.
    """
    needed = {ring.newest}
    for found in found_in(folder.path):
        if found.kind in ("snapshot", "segment"):
            if found.key_id is None:
                raise FolderUnusable(
                    f"{found.path} does not tell which key it needs ({found.problem}); without --prune all "
                    "keys are kept"
                )
            needed.add(bytes.fromhex(found.key_id))
    return set(ring.key_ids) - needed
