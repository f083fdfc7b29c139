"""Commands on a data folder: `snapshot` lists, verifies and exports its files, `rotate-key` makes a new
sealing key.

Invariant: `rotate-key` drops no key that a file here needs, and prints none.

Results go to standard output, for people or with `--json`; warnings go to standard error.
"""

import json
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import msgspec

from blobs.sealed_blobs import SealedBlobs
from cli.local_folder import DataFolder, json_option, keys_file_option
from cli.outline import moment
from cli.settings_port import on_data_folder
from cli.terminal import bars
from snapshot.export import BLOB_FOLDER, TABLES, Format, export_state
from snapshot.inspection import (
    Contents,
    Found,
    contents_of,
    found_in,
    needed_keys,
    snapshot_found,
    verify_file,
    verify_folder,
)
from snapshot.recovery import recover
from snapshot.restore import Source, read_backup
from storage.folder import KEYS, FolderInUse, FolderUnusable, alone, keep_keys, kept_keys, what_to_do
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


READABLE = "Anybody who gets these files can read them, and they hold webhook tokens: keep them like secrets."

path_type = click.Path(path_type=Path)


@click.group()
def snapshot() -> None:
    """Inspect, verify and export the data on disk."""


@snapshot.command()
@on_data_folder
@click.argument("file", type=path_type, required=False)
@keys_file_option
@json_option
def inspect(data_folder: DataFolder, file: Path | None, keys_file: Path | None, *, as_json: bool) -> None:
    """List the contents of the data folder.

    With FILE (a snapshot or a backup), list the contents of that file. A gateway may run meanwhile.
    """
    if file is None:
        data_folder.refuse_if_empty()
        found = list(found_in(data_folder.path))
        _show({"files": found}, map(_line_of, found), as_json=as_json)
        return
    header, keys = snapshot_found(file), data_folder.keys_at_hand(file, keys_file)
    if keys is None:
        contents, line = None, "its contents cannot be read without its key; see --keys-file"
    else:
        with bars() as bar:
            contents = contents_of(file, keys, bar(file.name))
        line = _contents_line(contents)
    _show({"header": header, "contents": contents}, [_line_of(header), line], as_json=as_json)


@snapshot.command()
@on_data_folder
@click.argument("file", type=path_type, required=False)
@keys_file_option
@json_option
def verify(data_folder: DataFolder, file: Path | None, keys_file: Path | None, *, as_json: bool) -> None:
    """Check the whole data folder, and change nothing.

    With FILE (a snapshot or a backup), check that file. Ends with status 1 if something is bad.
    """
    with bars() as bar:
        if file is not None:
            verified = verify_file(file, data_folder.keys_for(file, keys_file), data_folder.empty_state, bar)
        else:
            data_folder.refuse_if_empty()
            with data_folder.held("POST /debug/verify verifies what a running gateway holds") as folder:
                verified = verify_folder(folder, data_folder.empty_state, bar)
    lines = [f"{'good' if one.good else 'BAD '}  {one.what}: {one.text}" for one in verified.findings]
    if verified.digest is not None:
        lines.append(f"position {verified.position}, digest {verified.digest}")
    _show({"good": verified.good, **msgspec.structs.asdict(verified)}, lines, as_json=as_json)
    if not verified.good:
        raise SystemExit(1)


@snapshot.command()
@on_data_folder
@click.argument("out", type=path_type)
@click.option(
    "--format", "written_as", type=click.Choice(["ndjson", "csv"]), required=True, help="Format of the files."
)
@click.option("--from", "file", type=path_type, help="Export this backup instead of the data folder.")
@keys_file_option
@json_option
def export(
    data_folder: DataFolder,
    out: Path,
    written_as: Format,
    file: Path | None,
    keys_file: Path | None,
    *,
    as_json: bool,
) -> None:
    """Write votes and listings as text to OUT, a new or empty folder."""
    if out.resolve().is_relative_to(data_folder.path.resolve()):
        raise FolderUnusable(f"{out} is in the data folder, where no other files may be; name another folder")
    with bars() as bar:
        if file is not None:
            source = read_backup(
                file, data_folder.keys_for(file, keys_file), data_folder.empty_state, bar(file.name)
            )
        else:
            source = _recovered(data_folder)
        try:
            manifest = export_state(
                source.state,
                source.position,
                out,
                written_as,
                progress=bar(str(out)),
                blobs=source.blobs(),
            )
        except OSError as error:
            raise FolderUnusable(f"nothing was exported: {what_to_do(error, out)}") from None
    rows = msgspec.structs.asdict(manifest.rows)
    told = [f"{name}.{written_as}  {rows[name]} rows" for name in TABLES]
    told += [f"{BLOB_FOLDER}  {len(manifest.files)} files"] if manifest.files else []
    _show(manifest, [*told, f"position {source.position}, digest {manifest.digest}"], as_json=as_json)
    click.echo(READABLE, err=True)


def _recovered(data_folder: DataFolder) -> Source:
    data_folder.refuse_if_empty()
    with data_folder.held(
        "a backup of a running gateway (GET /debug/snapshot) is exported with --from"
    ) as folder:
        recovered = recover(folder, data_folder.empty_state)
    return Source(recovered.state, recovered.tail.head, SealedBlobs(folder).whole)


def _show(tree: Any, lines: Iterable[str], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(tree), indent=2))
        return
    for line in lines:
        click.echo(line)


def _line_of(found: Found) -> str:
    words = [found.kind, found.path, f"{found.bytes} bytes"]
    if found.position is not None:
        words.append(f"{'from ' if found.kind == 'segment' else ''}position {found.position}")
    if found.created_ms is not None:
        words.append(f"of {moment(found.created_ms)}")
    if found.cut_from is not None:
        words.append(f"cut from {found.cut_from} at byte {found.cut_at}")
    if found.key_id is not None:
        words.append(f"key {found.key_id}")
    if found.problem is not None:
        words.append(f"BAD: {found.problem}")
    return "  ".join(words)


def _contents_line(contents: Contents) -> str:
    counts = msgspec.structs.asdict(contents)
    last = counts.pop("last_position")
    return f"{', '.join(f'{count} {name}' for name, count in counts.items())}, last position {last}"
