"""`snapshot`: list, verify and export the files of a data folder. No logic.

Results go to standard output, for people or with `--json`; warnings go to standard error.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from cli.local_folder import DataFolder, json_option, keys_file_option
from cli.settings_port import on_data_folder
from cli.terminal import bars
from snapshot.export import TABLES, Format, export_state
from snapshot.inspection import (
    Contents,
    Found,
    contents_of,
    found_in,
    snapshot_found,
    verify_file,
    verify_folder,
)
from snapshot.recovery import recover
from snapshot.restore import (
    Source,
    read_backup,
)
from storage.folder import (
    FolderUnusable,
    what_to_do,
)

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
            manifest = export_state(*source, out, written_as, progress=bar(str(out)))
        except OSError as error:
            raise FolderUnusable(f"nothing was exported: {what_to_do(error, out)}") from None
    rows = msgspec.structs.asdict(manifest.rows)
    told = [f"{name}.{written_as}  {rows[name]} rows" for name in TABLES]
    _show(manifest, [*told, _end_line(source, manifest.digest)], as_json=as_json)
    click.echo(READABLE, err=True)


def _recovered(data_folder: DataFolder) -> Source:
    data_folder.refuse_if_empty()
    with data_folder.held(
        "a backup of a running gateway (GET /debug/snapshot) is exported with --from"
    ) as folder:
        recovered = recover(folder, data_folder.empty_state)
    return Source(recovered.state, recovered.tail.head)


def _show(tree: Any, lines: Iterable[str], *, as_json: bool) -> None:
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
