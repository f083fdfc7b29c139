"""The conditions of a server's listing, checked again when its owner asks.

Invariant: the page shows the check that is in the listing, and a check changes nothing else.
"""

from actions.action import Access
from core.rows import Listing
from listings import eligibility
from pages.page import Page, PageCall, Post
from pages.shared_texts import done
from pages.site_tools import Submissions


async def check(page: PageCall, _: None) -> None:
    """Ask the chat platform, and keep what it says."""
    asked, row = page.site.submissions, page.row
    now = await asked.checking.check(page.person.id, row.id)
    call = page.call.rechecked()
    events = eligibility.check(call.state, row.ref, now, call.now_ms, asked.grace_ms, by=call.by)
    await call.commit(events, lambda: None)


def hides_ms(asked: Submissions, row: Listing) -> int | None:
    """Return when a listing that fails is hidden; None for one that passes, or is hidden already."""
    known = row.eligibility
    if known is None or known.failing_ms is None or known.hidden_ms is not None:
        return None
    return known.failing_ms + asked.grace_ms


def bot_link(asked: Submissions, row: Listing) -> str | None:
    """Return where the owner of a server adds the bot that sees what is unknown."""
    known = row.eligibility
    is_unknown = known is not None and any(each.outcome == "unknown" for each in known.checks)
    return asked.checking.bot_link(row.id) if is_unknown else None


SERVER_CHECK: Page[None] = Page(
    path="/{kind}/{id}/manage/check",
    of="checks",
    posts=(
        Post(
            access=Access("edit"),
            run=check,
            then=lambda page, _: done(f"{page.here}#conditions", "checked"),
        ),
    ),
)
