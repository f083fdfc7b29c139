"""The page on which a user adds emojis to a server, through the bot of this site.

    GET -> the servers that the user may manage -> GET ?server= -> the question -> POST -> the server has it

The list of servers comes with a sign-in (`pages/platform_facts.py`). Without a bot there is no such page.

Invariants: nothing is added to a server unless the platform said, minutes ago, that the user manages it. A
form adds its emojis once, however often its button is pressed.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from chatplatform.answers import PlatformServer, server_icon_url
from chatplatform.platform_client import (
    NO_ACCESS,
    NO_PERMISSION,
    NO_SUCH_FORM,
    SLOTS_FULL,
    TOO_LARGE,
    UNKNOWN_SERVER,
    PlatformAway,
)
from core.rows import Listing, Policy
from languages.refusals import Refusal
from languages.texts import Text
from listings.rules import listing_of
from pages.page import Again, Page, PageCall, Post, Shown
from pages.public.downloads import NamedFile, downloaded_files
from pages.shared_texts import AWAY, NOT_IN_LIST, done
from ratelimit.bucket import TooManyRequests
from web.form_posts import FormPost

ADDED = Policy(50, 86_400)
"""The emojis that a user may add in a day."""
ONCE_DIGITS = 32
"""The length of the number in a form, which tells that it is sent again."""
CREATE_EXPRESSIONS = 1 << 43
"""The permission that the bot needs, among those of the platform."""
NO_PICTURE = Text("Choose at least one emoji.")
FULL = Text(
    "The server has no room for another emoji of this sort. Remove one there, or choose another server."
)
NOT_THERE = Text("Our bot is not in this server. Add it, and try again.")
MAY_NOT = Text("Our bot may not add emojis there. Give it the permission Create Expressions, and try again.")
NOT_TAKEN = Text("The chat platform refuses this emoji.")
LIMITED = Text("The chat platform takes no more emojis at the moment. Try again in a few minutes.")
UNCERTAIN = Text(
    "The chat platform did not answer in time. The emoji may have been added: look at your server before "
    "you try again."
)
TODAY = Text("You have added as many emojis as is allowed in a day. Continue tomorrow.")
_REFUSED: Mapping[int, Text] = {
    **dict.fromkeys(SLOTS_FULL, FULL),
    **dict.fromkeys((UNKNOWN_SERVER, NO_ACCESS), NOT_THERE),
    **dict.fromkeys((NO_SUCH_FORM, TOO_LARGE), NOT_TAKEN),
    NO_PERMISSION: MAY_NOT,
}
_AWAY: Mapping[str, Text] = {"limited": LIMITED, "timeout": UNCERTAIN, "unreachable": UNCERTAIN}


def show(page: PageCall) -> Shown[None]:
    row, submissions, here = _row(page), page.site.submissions, page.visit.path
    wanted = page.typed("server") or page.visit.request.query.get("server", "")
    known, server = submissions.server_lists.of(page.person.id), _server(page, wanted)
    cdn_url, managed = page.site.addresses.cdn_url, known.servers if known is not None else ()
    html = {
        "row": row,
        "here": here,
        "back": f"{here}?server={wanted}" if wanted.isascii() and wanted.isdigit() else here,
        "known": known,
        "server": server,
        "icon_url": server_icon_url(cdn_url, server) if server is not None else None,
        "managed": [(each, server_icon_url(cdn_url, each)) for each in managed],
        "bot_link": submissions.checking.bot_link(wanted, CREATE_EXPRESSIONS) if server is not None else None,
        "once": _new_once(page),
        "choices": downloaded_files(row),
        "chosen": page.typed("pictures", None),
        "added": page.refused.found.get("added", ()),
        "problem": page.refused.errors.get(""),
    }
    return Shown(None, Text("Add {listing} to a server", listing=row.profile.name), html)


def _row(page: PageCall) -> Listing:
    """Return the listing. Raises Refusal if everybody may not see it, or this site has no bot."""
    row = listing_of(page.call.state, page.call.ref)
    if not row.is_public:
        raise Refusal("no_such_listing")
    if not page.site.platform.has_bot:
        raise Refusal("no_such_path")
    return row


def _server(page: PageCall, server_id: str) -> PlatformServer | None:
    return page.site.submissions.server_lists.server(page.person.id, server_id)


def _chosen(page: PageCall) -> Sequence[NamedFile]:
    numbers = {*page.visit.form().texts("pictures")}
    return [each for each in downloaded_files(_row(page)) if str(each.number) in numbers]


def _guard(page: PageCall) -> None:
    """Raise Again for a server that the visitor does not manage, and for a form without an emoji."""
    chosen = _chosen(page)
    if _server(page, page.visit.form().text("server")) is None:
        raise Again(errors={"": NOT_IN_LIST}, status=409)
    if not chosen:
        raise Again(errors={"": NO_PICTURE}, status=400)


async def _add_once(page: PageCall, _: object) -> None:
    """Add the chosen emojis. If that succeeded, the same form changes nothing when it is sent again."""
    once = page.visit.form().text("once")[:ONCE_DIGITS] or _new_once(page)
    await page.site.public.added_emojis.get((page.person.id, once), lambda: _add(page))


def _new_once(page: PageCall) -> str:
    return page.call.tools.random(ONCE_DIGITS // 2).hex()


async def _add(page: PageCall) -> Sequence[str]:
    server_id, added = page.visit.form().text("server"), list[str]()
    for emoji in _chosen(page):
        try:
            await _add_one(page, server_id, emoji)
        except PlatformAway as away:
            raise Again(away, errors={"": _why(away)}, status=503, found={"added": added}) from away
        except TooManyRequests as refused:
            raise Again(errors={"": TODAY}, status=429, found={"added": added}) from refused
        added.append(emoji.name)
    return added


async def _add_one(page: PageCall, server_id: str, emoji: NamedFile) -> None:
    page.site.public.emojis.take(page.person.id)
    content = await page.call.tools.files.get(emoji.file.digest)
    if content is None:
        raise Refusal("no_such_path")
    picture = f"data:{emoji.file.media_type};base64,{base64.b64encode(content).decode()}"
    reason = f"Added by {page.person.id} at {page.site.addresses.public_url}"
    await page.site.platform.add_emoji(server_id, emoji.name, picture, reason)


def _why(away: PlatformAway) -> Text:
    return (_REFUSED.get(away.code) if away.reason == "refused" else _AWAY.get(away.reason)) or AWAY


def _read(_: PageCall, form: FormPost) -> Mapping[str, Any]:
    return {"server": form.text("server"), "pictures": form.texts("pictures")}


ADD_EMOJIS = Page[None](
    path="/{kind}/{id}/add-to-server",
    of="as_emojis",
    template="add_emojis",
    show=show,
    has_json=False,
    posts=(
        Post(
            guard=_guard,
            reads=_read,
            run=_add_once,
            then=lambda page, _: done(f"/{page.call.ref}", "emojis-added"),
        ),
    ),
)
