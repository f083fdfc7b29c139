"""The images that descriptions name, from us: other sites learn nothing of our visitors.

Invariant: an image is served while the description of a public listing names it, as the decoder has drawn it,
and no browser takes it for anything else. Other sites cannot show it from here.
"""

from handlers.reply import Reply
from kinds.registry import kind_of
from languages.refusals import Refusal
from pages.page import Page, PageCall
from web.pages import NO_INDEX, NO_VARY, tagged

HEADERS = {
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    **NO_INDEX,
    **NO_VARY,
}


async def show(page: PageCall) -> Reply:
    """Return an image. Raises Refusal."""
    ref, listings, descriptions = page.call.ref, page.call.state.listings, page.site.descriptions
    if descriptions.images is None or ref not in listings:
        raise Refusal("no_such_path")
    row = listings.peek(ref)
    if not row.is_public:
        raise Refusal("no_such_path")
    text = kind_of(ref).prose(row.profile)
    decoded = await descriptions.images.get(descriptions.markdown, ref, text, page.call.ids[1])
    if decoded is None:
        raise Refusal("no_such_path")
    kept = {"cache-control": f"public, max-age={round(descriptions.images.limits.kept_seconds)}"}
    return tagged(page.visit.request, decoded.content, {**HEADERS, **kept}, decoded.file.media_type)


IMAGE = Page[None](
    path="/{kind}/{id}/images/{name}", of="images", visitors="anyone", show=show, has_json=False
)
