"""The images of descriptions, served by the gateway: other sites learn nothing of visitors.

Invariant: an image is served while the description of a public listing names it, as the decoder has drawn it,
and no browser takes it for anything else. Other sites cannot show it from here.
"""

from handlers.reply import Reply
from handlers.request import is_known
from kinds.registry import kind_of
from languages.refusals import Refusal
from pages.page import Page, PageCall
from web.pages import NO_INDEX, NO_VARY

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
    tag = f'"{decoded.file.digest[:32]}"'
    kept_seconds = round(descriptions.images.limits.kept_seconds)
    headers = {**HEADERS, "cache-control": f"public, max-age={kept_seconds}", "etag": tag}
    is_there = is_known(page.visit.request, tag)
    content = b"" if is_there else decoded.content
    return Reply(304 if is_there else 200, content, headers, content_type=decoded.file.media_type)


IMAGE = Page[None](
    path="/{kind}/{id}/images/{name}", of="images", visitors="anyone", show=show, has_json=False
)
