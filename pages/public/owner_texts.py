"""The texts of the site's owner: the terms and the privacy notice. A missing text has no page."""

from languages.refusals import Refusal
from languages.texts import Text
from pages.page import Page, PageCall, Shown


async def show_terms(page: PageCall) -> Shown[None]:
    return await _shown(page, page.site.texts.terms, Text("Terms"))


async def show_privacy(page: PageCall) -> Shown[None]:
    return await _shown(page, page.site.texts.privacy, Text("Privacy"))


async def _shown(page: PageCall, text: str | None, title: Text) -> Shown[None]:
    """Return the page of a text. Raises Refusal if there is none."""
    if text is None:
        raise Refusal("no_such_path")
    return Shown(None, title, {"prose": await page.site.texts.markdown.html(text)})


OWNER_TEXTS = (
    Page[None](
        path="/terms", visitors="anyone", show=show_terms, template="owner_text", has_json=False, kept=()
    ),
    Page[None](
        path="/privacy", visitors="anyone", show=show_privacy, template="owner_text", has_json=False, kept=()
    ),
)
