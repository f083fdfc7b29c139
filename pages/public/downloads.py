"""Downloads of the files of a listing, and their number.

    GET /{kind}/{id}/download           all: a file itself, or several in a ZIP
    GET /{kind}/{id}/download?file=2    one of them

Invariant: a visitor, which is an address, counts once a day (UTC) for a listing. The addresses are in memory
alone, as keyed digests. So a restart forgets them, and nodes of a fleet do not share them. While their memory
is full, new visitors are not counted: a number may be too low, but nobody can inflate it.
"""

import io
import zipfile
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from core.clock import day_of
from core.events import DownloadCounted
from core.failures import Unavailable
from core.rows import Listing
from forms.file_fields import EXTENSIONS, FileRef, files_of
from handlers.public_files import ALONE, attached, safe_name
from handlers.reply import Reply
from kinds.registry import kind_of
from languages.refusals import Refusal
from pages.page import Page, PageCall
from pages.public.listing import seen_listing
from ratelimit.address import address_key
from web.pages import NO_INDEX

HEADERS = {"cache-control": "no-store", **NO_INDEX}
MADE_AT = (1980, 1, 1, 0, 0, 0)
"""The time of the files in a ZIP, which is the same bytes at each download."""


class NamedFile(NamedTuple):
    """A file of a listing with its number there, from 1, and its name."""

    number: int
    name: str
    file: FileRef


async def show(page: PageCall) -> Reply:
    """Count the download, and return the files, or lead to the only one. Raises Refusal."""
    row = seen_listing(page)
    files = downloaded_files(row)
    number = page.visit.request.query.get("file", "")
    if number:
        files = [each for each in files if str(each.number) == number]
        if not files:
            raise Refusal("no_such_path")
    if len(files) != 1:
        packed, name = await _packed(page, files), _name(row)
        _count(page, row)
        return Reply(
            200, packed, {**ALONE, **HEADERS, **attached(name, "zip")}, content_type="application/zip"
        )
    _count(page, row)
    location = f"{files[0].file.path}?{urlencode({'download': files[0].name})}"
    return Reply(303, b"", {**HEADERS, "location": location}, content_type="text/plain; charset=utf-8")


def downloaded_files(row: Listing) -> Sequence[NamedFile]:
    """Return the files of a listing that visitors may download."""
    part, name = kind_of(row.ref).downloads, _name(row)
    files = files_of(getattr(row.profile, part.field)) if part is not None else ()
    return [
        NamedFile(number, f"{name}_{number}" if len(files) > 1 else name, file)
        for number, file in enumerate(files, 1)
    ]


def _name(row: Listing) -> str:
    return safe_name(row.profile.name) or row.id


async def _packed(page: PageCall, files: Sequence[NamedFile]) -> bytes:
    """Return a ZIP of files, which are compressed already. Raises Refusal while one is on no node."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for _, name, file in files:
            content = await page.call.tools.files.get(file.digest)
            if content is None:
                raise Refusal("no_such_path")
            entry = zipfile.ZipInfo(f"{name}.{EXTENSIONS[file.media_type]}", MADE_AT)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return made.getvalue()


def _count(page: PageCall, row: Listing) -> None:
    """Count a visitor of a public listing, unless that was done today."""
    request, call = page.visit.request, page.call
    if not row.is_public or request.method != "GET":
        return
    visitor = call.tools.digester.digest(f"download {row.ref} {address_key(request.address)}")
    if not page.site.public.downloads.is_new(visitor, day_of(call.now_ms)):
        return
    own = call.state.listings[row.ref].own_downloads  # others went on while files were read
    try:
        call.tools.ledger.commit([DownloadCounted(row.ref, own + 1)])
    except Unavailable:
        page.site.public.downloads.forget(visitor)


DOWNLOAD = Page[None](
    path="/{kind}/{id}/download", of="downloads", visitors="anyone", show=show, has_json=False
)
