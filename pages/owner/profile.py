"""The profile of a listing, for users who may change it. Invariant: it is changed whole, and its owners stay.

A preview is a POST that saves nothing. Saving a denied listing sends it to the moderators again. An approved
one stays approved, and they look at the change. The form shows the version saved last, whichever the public
sees. It names that version, so that of two owners who edit at once, neither overwrites the other's version
unseen.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from markupsafe import Markup
from msgspec.structs import asdict, replace

from actions.listings import EDIT, edit_guarded
from actions.views import Success
from core.rows import Listing
from forms.reading import posted, read
from languages.texts import Text
from listings.profile_changes import changed_fields
from pages.page import Again, Page, PageCall, Post, RefusedPost, Shown
from pages.shared_texts import done
from ratelimit.bucket import TooManyRequests
from web.form_posts import FormPost
from web.pages import Done

OVERTAKEN = Text(
    "Another version was saved meanwhile, by somebody else or in another window. Yours is not saved. "
    "Both are below. If you save now, yours replaces the other one."
)


def show(page: PageCall) -> Shown[None]:
    """Show the form with what was typed, or else with the version saved last."""
    found, version = page.refused.found, version_of(page.row)
    return Shown(
        None,
        html={
            "values": page.refused.typed or page.call.listing_kind.written(page.row.latest),
            "version": found.get("version") or page.typed("version", version),
            "labels": page.call.listing_kind.labels,
            "preview": found.get("preview"),
            "others": found.get("others", ()),
            "edits": page.call.tools.edits,
        },
    )


def typed(page: PageCall, form: FormPost) -> Mapping[str, Any]:
    """Return the profile of a form, and the version of the one that it was drawn from."""
    profile = posted(page.call.listing_kind.shown, form)
    return {**profile, "version": form.text("version") or version_of(page.row)}


async def save(page: PageCall, _: None) -> Success:
    """Save the profile. Sent once more, a form that was overtaken takes the place of the other version."""
    draft = typed(page, page.visit.form())
    profile = {name: draft[name] for name in page.call.listing_kind.shown}

    def refuse_overtaken(row: Listing) -> None:
        version = version_of(row)
        if draft["version"] != version:
            others = changed_fields(page.call.listing_kind.written(row.latest), profile)
            raise Again(errors={"": OVERTAKEN}, status=409, found={"others": others, "version": version})

    refuse_overtaken(page.row)
    form = read(page.call.listing_kind.edit, {"owner_id": page.row.owner_id, **profile})
    return await edit_guarded(page.call, form, refuse_overtaken)


def saved(page: PageCall, _: Success) -> Done:
    """Lead to the overview, with a notice that names a moderator if one looks at the profile."""
    row, notice = page.call.state.listings.get(page.row.ref), "saved"
    if page.row.state == "denied":
        notice = "sent-again"
    elif row is not None and row.change is not None:
        notice = "changed" if row.change.is_public else "proposed"
    return done(page.here, notice)


async def preview(page: PageCall, _: None) -> Markup:
    """Draw the description that was typed."""
    try:
        page.site.descriptions.previews.take(page.person.id)
    except TooManyRequests as refused:
        raise Again(refused) from refused
    text = page.visit.form().get(page.call.listing_kind.prose_name or "", "")
    return await page.site.descriptions.markdown.html(text)


def previewed(page: PageCall, html: Markup) -> Shown[None]:
    draft = typed(page, page.visit.form())
    return show(replace(page, refused=RefusedPost(typed=draft, found={"preview": html})))


def version_of(row: Listing) -> str:
    """Return what tells the version saved last from others, for a form that is drawn from it."""
    return hashlib.blake2b(msgspec.json.encode(asdict(row.latest)), digest_size=8).hexdigest()


PROFILE = Page(
    path="/{kind}/{id}/manage/profile",
    tab="profile",
    access=EDIT.access,
    show=show,
    has_json=False,
    posts=(
        Post(access=EDIT.access, reads=typed, run=save, then=saved),
        Post(access=EDIT.access, reads=typed, run=preview, then=previewed, button="preview"),
    ),
    gives_back=True,
    takes_files=True,
)
