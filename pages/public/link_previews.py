"""The picture that other sites show beside a link to a listing."""

from handlers.reply import Reply
from kinds.registry import kind_of
from languages.refusals import Refusal
from pages.page import Page, PageCall
from pages.public.lists import shown_in_lists
from web.link_preview import LinkPreview
from web.pages import NO_INDEX, NO_VARY, tagged

HEADERS = {
    "cache-control": "public, max-age=3600",
    "cross-origin-resource-policy": "cross-origin",  # it is made for pages of other sites
    **NO_VARY,
}


async def show(page: PageCall) -> Reply:
    """Return the picture, if everybody may see the listing. Raises Refusal, also for its owners."""
    ref, listings = page.call.ref, page.call.state.listings
    page.shown.add(ref)
    row = listings.peek(ref) if ref in listings else None
    if row is None or not row.is_public:
        raise Refusal("no_such_listing")
    # The same for everybody, so it is in English whatever the visitor reads.
    kind = kind_of(ref)
    foot = f"{page.site.brand.name}  ·  {kind.nouns.one.english}"
    colours = tuple(kind.crown(row.profile))
    text = shown_in_lists(row).text or (" · ".join(colours) if kind.has("colours") else "")
    shown = LinkPreview(row.id, row.profile.name, text, foot, colours)
    picture = await page.site.public.previews.picture(shown)
    headers = {**HEADERS, **NO_INDEX} if kind.is_unlisted(row.profile) else HEADERS
    return tagged(page.visit.request, picture, headers, "image/png")


LINK_PREVIEW = Page[None](
    path="/{kind}/{id}/preview.png", visitors="anyone", show=show, has_json=False, kept=()
)
