"""The files of listings on pages, for those who may see a listing that names them."""

from forms.file_fields import FileRef
from handlers.public_files import ALONE, OF_ALL, PATH, digest_in, file_reply
from handlers.reply import Reply
from pages.page import Page, PageCall
from people.permissions import rights
from web.pages import NO_INDEX, NO_VARY

OF_SOME = {
    **ALONE,
    "cache-control": "private, no-cache",
    "cross-origin-resource-policy": "same-origin",
    **NO_INDEX,
}


async def show(page: PageCall) -> Reply:
    """Return the file, whole or the part that the request asks for. Raises Refusal."""
    request, store = page.visit.request, page.site.blobs
    digest = digest_in(request)
    await store.until_named()
    file, headers = store.names.public(digest), {**OF_ALL, **NO_VARY}
    if file is None:
        file, headers = await _seen_by_some(page, digest), OF_SOME
    return await file_reply(request, store, file, headers)


async def _seen_by_some(page: PageCall, digest: str) -> FileRef | None:
    """Return the file if the visitor may see a listing that names it, or has just uploaded it."""
    person, store = page.visit.visitor, page.site.blobs
    if person is None:
        return None
    for ref in store.names.refs(digest):
        row = page.call.state.listings.peek(ref)
        if "see" in rights(person.id, row, is_moderator=person.is_moderator):
            for file in store.names.files_of(ref):
                if file.digest == digest:
                    return file
    return await store.ref(digest) if store.has_sent(person.id, digest) else None


FILE = Page[None](path=PATH, visitors="anyone", show=show, has_json=False)
