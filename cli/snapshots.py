"""`snapshot`: list, verify, export and restore the files of a data folder. No logic.

Results go to standard output, for people or with `--json`; warnings go to standard error.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from cli.place import Place, bars, json_option, keys_file_option, on_data_folder
from core.clock import SystemClock
from snapshot.export import TABLES, counts_of, export_state
from snapshot.export_format import Format
from snapshot.inspection import Contents, Found, contents_of, found_in, snapshot_found
from snapshot.recovery import recover
from snapshot.restore import (
    Source,
    made_whole_or_not_at_all,
    read_backup,
    read_export,
    refuse_unless_empty,
    restore_into,
)
from snapshot.verification import verify_file, verify_folder
from storage.exposed import refuse_exposed
from storage.folder import (
    DIGEST_SECRET,
    KEYS,
    OPERATOR_TOKEN,
    FolderUnusable,
    kept_keys,
    refuse_foreign_files,
    what_to_do,
)

READABLE = "Anybody who gets these files can read them, and they hold webhook tokens: keep them like secrets."
MISSING = {
    DIGEST_SECRET: "put the key-digest.secret of its API keys into {} first: without it no API key works",
    OPERATOR_TOKEN: "put its operator.token into {}, or the next start creates a new one",
}

path_type = click.Path(path_type=Path)


@click.group()
def snapshot() -> None:
    """Inspect, verify, export and restore the data on disk."""


@snapshot.command()
@on_data_folder
@click.argument("file", type=path_type, required=False)
@keys_file_option
@json_option
def inspect(place: Place, file: Path | None, keys_file: Path | None, as_json: bool) -> None:
    """List the contents of the data folder.

    With FILE (a snapshot or a backup), list the contents of that file. A gateway may run meanwhile.
    """
    if file is None:
        place.refuse_if_empty()
        found = list(found_in(place.path))
        _show({"files": found}, map(_line_of, found), as_json)
        return
    header, keys = snapshot_found(file), place.keys_at_hand(file, keys_file)
    if keys is None:
        contents, line = None, "its contents cannot be read without its key; see --keys-file"
    else:
        with bars() as bar:
            contents = contents_of(file, keys, bar(file.name))
        line = _contents_line(contents)
    _show({"header": header, "contents": contents}, [_line_of(header), line], as_json)


@snapshot.command()
@on_data_folder
@click.argument("file", type=path_type, required=False)
@keys_file_option
@json_option
def verify(place: Place, file: Path | None, keys_file: Path | None, as_json: bool) -> None:
    """Check the whole data folder, and change nothing.

    With FILE (a snapshot or a backup), check that file. Ends with status 1 if something is bad.
    """
    with bars() as bar:
        if file is not None:
            verified = verify_file(file, place.keys_for(file, keys_file), place.empty_state, bar)
        else:
            place.refuse_if_empty()
            with place.held("POST /debug/verify verifies what a running gateway holds") as folder:
                verified = verify_folder(folder, place.empty_state, bar)
    lines = [f"{'good' if one.good else 'BAD '}  {one.what}: {one.text}" for one in verified.findings]
    if verified.digest is not None:
        lines.append(f"position {verified.position}, digest {verified.digest}")
    _show({"good": verified.good, **msgspec.structs.asdict(verified)}, lines, as_json)
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
    place: Place, out: Path, written_as: Format, file: Path | None, keys_file: Path | None, as_json: bool
) -> None:
    """Write votes and listings as text to OUT, a new or empty folder."""
    if out.resolve().is_relative_to(place.path.resolve()):
        raise FolderUnusable(f"{out} is in the data folder, where no other files may be; name another folder")
    with bars() as bar:
        if file is not None:
            source = read_backup(file, place.keys_for(file, keys_file), place.empty_state, bar(file.name))
        else:
            source = _recovered(place)
        try:
            manifest = export_state(*source, out, written_as, progress=bar(str(out)))
        except OSError as error:
            raise FolderUnusable(f"nothing was exported: {what_to_do(error, out)}") from None
    rows = msgspec.structs.asdict(manifest.rows)
    told = [f"{name}.{written_as}  {rows[name]} rows" for name in TABLES]
    _show(manifest, [*told, _end_line(source, manifest.digest)], as_json)
    click.echo(READABLE, err=True)


@snapshot.command()
@on_data_folder
@click.argument("source", type=path_type)
@keys_file_option
@json_option
def restore(place: Place, source: Path, keys_file: Path | None, as_json: bool) -> None:
    """Build a new data folder from SOURCE.

    SOURCE is a backup (GET /debug/snapshot), or the folder of an export.
    """
    _refuse_unless_restorable(place, source, keys_file)
    with bars() as bar:
        if source.is_dir():
            read = read_export(source, place.empty_state, bar(source.name))
        else:
            read = read_backup(source, place.keys_for(source, keys_file), place.empty_state, bar(source.name))
        try:
            with made_whole_or_not_at_all(place.path), place.held("restore needs an empty folder") as folder:
                refuse_unless_empty(folder.path)
                restore_into(folder, read, SystemClock().now_ms())
        except OSError as error:
            raise FolderUnusable(f"nothing was restored: {what_to_do(error, place.path)}") from None
    digest, counts = read.state.digest(), counts_of(read.state)
    tree = {"position": read.position, "digest": digest, "rows": counts}
    _show(tree, [_end_line(read, digest)], as_json)
    for note in _missing_secrets(place, has_keys=read.state.listings.key_count > 0):
        click.echo(note, err=True)


def _refuse_unless_restorable(place: Place, source: Path, keys_file: Path | None) -> None:
    """Check before anything is made or read for long.

    Raises FolderUnusable with all that is wrong, and SnapshotCorrupt.
    """
    wrong: list[str] = []
    try:
        if place.path.exists():
            refuse_foreign_files(place.path)
            refuse_exposed(place.path)
            refuse_unless_empty(place.path)
    except FolderUnusable as error:
        wrong.append(str(error))
    try:
        if not source.exists():
            raise FolderUnusable(f"{source} does not exist; name an export's folder or a backup")
        if not source.is_dir():
            place.keys_for(source, keys_file)
        if (place.path / KEYS).exists():
            kept_keys(place.path, needed=True)
    except FolderUnusable as error:
        # Into a folder that is the wrong one, nobody is told to put secrets.
        wrong += [str(error), *([] if wrong else _missing_secrets(place, has_keys=True))]
    if wrong:
        raise FolderUnusable("; ".join(wrong))


def _missing_secrets(place: Place, *, has_keys: bool) -> list[str]:
    """Return advice for each secret that is missing; for that of API keys only if there are keys."""
    missing = [name for name in MISSING if place.missing(name) and (has_keys or name != DIGEST_SECRET)]
    return [MISSING[name].format(place.path) for name in missing]


def _recovered(place: Place) -> Source:
    place.refuse_if_empty()
    with place.held("a backup of a running gateway (GET /debug/snapshot) is exported with --from") as folder:
        recovered = recover(folder, place.empty_state)
    return Source(recovered.state, recovered.tail.head)


def _show(tree: Any, lines: Iterable[str], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(tree), indent=2))
        return
    for line in lines:
        click.echo(line)


def _end_line(source: Source, digest: str) -> str:
    return f"position {source.position}, digest {digest}"


def _line_of(found: Found) -> str:
    words = [found.kind, found.path, f"{found.bytes} bytes"]
    if found.position is not None:
        words.append(f"{'from ' if found.kind == 'segment' else ''}position {found.position}")
    if found.created_ms is not None:
        words.append(f"of {_when(found.created_ms)}")
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


def _when(milliseconds: int) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return "an impossible time"
