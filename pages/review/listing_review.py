"""The page on which a moderator decides about a listing, and puts its owner under quarantine.

Invariant: a submission is decided once, by a moderator who has seen it.

A form sends the version that the page showed, or the time of it, because an owner may edit meanwhile and
another moderator may be faster. Each form has an address of its own. A form that is refused is shown again on
the page.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from actions.action import Access, AnyAction, Call, form_of
from actions.history import ACTION_NAMES
from actions.reports import REASON_NAMES, SETTLE_REPORTS
from actions.review import AGREE, APPROVE, CLAIM, DENY, NOTE, REFUSE, RELEASE, WITHDRAW
from actions.users import LIFT_QUARANTINE, QUARANTINE_USER, QuarantineTerms, impose, lift
from actions.views import Success
from core.actors import Actor, user_of
from core.clock import MS_PER_DAY
from core.rows import Listing
from core.user_rows import QuarantinedAct
from forms.file_fields import FileRef, files_of
from handlers.reply import reply_to
from kinds.registry import kind_of
from languages.refusals import Refusal
from languages.said import plainly
from languages.texts import Text
from listings.invites import check_of, fault_of
from listings.owners import is_proven
from listings.review import PresetReason, denial_text, review_of
from listings.rules import change_version, listing_of, may_return
from pages.page import Again, Answer, Page, PageCall, Post, Show, Shown
from pages.public.colours import colours_of
from pages.public.listing import files_shown
from pages.public.lists import icon_of, pictures_of
from pages.public.template_tree import tree_of
from pages.public.ways_in import invite_url
from pages.review.alike_pictures import alike_to, twins_in
from pages.review.listing_view import ReviewView, platform_view, review_view
from pages.review.queue import desk_values, last_address, next_address, rows_beside, wanted_list
from pages.shared_texts import CONDITIONS, done
from pages.visitors import names_of
from web.error_pages import error_text
from web.form_posts import FormPost

SEES = Access("review")
"""The access of all forms. Those that decide refuse the owners of the listing themselves, with a text."""
OWN = Text("This listing is yours. Another moderator decides about it.")
NO_REASON = Text("Choose a reason, or write one.")
UNCONFIRMED = Text("The ownership is not verified: confirm the owner yourself.")
OTHER_OWNER = Text(
    "The owner of the listing has changed since you opened it. Look at it again. Nothing has changed for "
    "either owner."
)
VIEWS: Mapping[str, Text] = {
    "page": Text("Page"),
    "source": Text("Source"),
    "changes": Text("Changes"),
}
"""The views of what the owner wrote."""
NO_LENGTH = Text("Choose how long it lasts.")
ACTS: Mapping[QuarantinedAct, Text] = {
    "submit": Text("Submit listings"),
    "vote": Text("Vote and like"),
    "report": Text("Report listings"),
    "sign_in": Text("Sign in"),
}


class Length(NamedTuple):
    """The duration of a quarantine. `ms` is None for one without an end."""

    words: Text
    ms: int | None


LENGTHS: Mapping[str, Length] = {
    "day": Length(Text("1 day"), MS_PER_DAY),
    "week": Length(Text("7 days"), 7 * MS_PER_DAY),
    "month": Length(Text("30 days"), 30 * MS_PER_DAY),
    "ever": Length(Text("Until it is lifted"), None),
}


async def show(page: PageCall) -> Shown[ReviewView]:
    platform = await platform_view(page)
    row = listing_of(page.call.state, page.call.ref)  # others went on while the platform was asked
    value = review_view(page, row, platform)
    now = replace(page, listing=row)
    return Shown(value, Text("{listing} - review", listing=row.latest.name), partial(_html, now, value))


async def _html(page: PageCall, value: ReviewView) -> Mapping[str, Any]:
    row, kind, desk = page.row, kind_of(page.call.ref), wanted_list(page)
    view = page.visit.request.query.get("view", "")
    views = {name: text for name, text in VIEWS.items() if name != "changes" or value.changes is not None}
    beside, pictures = desk_values(page, desk, rows_beside(page, row)), pictures_of(row, row.latest)
    return {
        **beside,
        "names": {**beside["names"], **_names(page, value)},
        "following": next_address(page, row),
        "before": last_address(page, row),
        "views": views,
        "view": view if view in views else "changes" if value.changes else "page",
        "invite_url": _try_address(page, row),
        "invite": _invite(row),
        "colours": colours_of(row, row.latest),
        **files_shown(kind, row.latest),
        "changed_files": _files(row),
        "pictures": pictures,
        "alike": await alike_to(page, row),
        "twins": twins_in(pictures),
        "icon_url": icon_of(page, row, row.latest),
        "report_reasons": REASON_NAMES,
        "row": row,
        "tree": await tree_of(page, row),
        "its_kind": kind,
        "latest": row.latest,
        "version": change_version(row),
        "here": _here(page),
        "query": desk.query(),
        "acts": ACTS,
        "lengths": LENGTHS,
        "may_decide": "decide" in page.rights,
        "description": await page.site.descriptions.markdown.html(kind.prose(row.latest)),
        "labels": kind.labels,
        "deeds": ACTION_NAMES,
        "reasons": _reasons(page),
        "conditions": CONDITIONS,
        "values": page.visit.form() if page.refused.error is not None else {},
    }


def _files(row: Listing) -> Mapping[str, FileRef]:
    """Return the files of all versions of a profile, by their digests."""
    denied = row.review.denied_profile if row.review is not None else None
    profiles = [each for each in (row.agreed, denied, row.latest) if each is not None]
    names = kind_of(row.ref).file_rules
    files = (file for each in profiles for name in names for file in files_of(getattr(each, name)))
    return {file.digest: file for file in files}


def _names(page: PageCall, value: ReviewView) -> Mapping[str, str]:
    """Return the names of the people whom the page names."""
    actors = [each.by for each in value.notes] + [each.by for each in value.denials]
    actors += [each.by for each in value.reports] + [each.by for each in value.owner.quarantines]
    actors += [value.decision.by] if value.decision is not None else []
    actors += [value.claimed_by] if value.claimed_by is not None else []
    actors += [page.row.change.by] if page.row.change is not None else []
    users = [user for actor in actors if (user := user_of(Actor(actor))) is not None]
    return names_of(page.call.state, (*users, page.row.owner_id, *page.row.extra_owners))


def _try_address(page: PageCall, row: Listing) -> str | None:
    """Return the address at the chat platform that adds a bot, or joins a server."""
    code = kind_of(row.ref).invite_code(row.latest)
    return f"{page.site.addresses.invite_url}/{code}" if code is not None else invite_url(page, row)


def _invite(row: Listing) -> Mapping[str, Any]:
    """Return the invite of a listing as a check: its code, the last answer, and the problem in words."""
    found = check_of(row)
    problem = plainly(fault_of(found.problem).code) if found is not None and found.problem else None
    return {"code": kind_of(row.ref).invite_code(row.latest), "found": found, "problem": problem}


def _here(page: PageCall) -> str:
    return f"/review/{page.call.ref}"


def _reasons(page: PageCall) -> Sequence[PresetReason]:
    """Return the reasons for which a listing of this kind may be denied."""
    kinds = {page.call.listing_kind.plural, "all"}
    return [each for each in page.site.reasons if each.kind in kinds]


async def show_or_overtaken(page: PageCall) -> Shown[Any]:
    """Show the page again, or say who was faster: another moderator or the owner."""
    return _overtaken(page) if page.refused.status == 409 else await show(page)


def _overtaken(page: PageCall) -> Shown[None]:
    row = page.row
    is_edited = row.state == "in_review"
    values = {
        "row": row,
        "here": _here(page),
        "decision": review_of(row) if not is_edited else None,
        "me": page.call.by,
        "names": names_of(page.call.state, [user for user in [_decider(row)] if user is not None]),
        "following": next_address(page, row),
        "words": page.visit.form().text("words"),
    }
    title = Text("The owner has changed it") if is_edited else Text("It is decided already")
    return Shown(None, title, values, template="review_overtaken")


def _decider(row: Listing) -> str | None:
    decision = review_of(row)
    return user_of(decision.by) if decision is not None else None


# -- guards -----------------------------------------------------------------------------------------------


def refuse_own(page: PageCall) -> None:
    """Raise Again for a listing of the moderator's own."""
    if "decide" not in page.rights:
        raise Again(errors={"": OWN}, status=403)


def _refuse_unseen(page: PageCall) -> None:
    """Raise Again if the listing is not in review as the moderator has seen it."""
    refuse_own(page)
    row, seen = page.row, page.visit.form().get("seen", "")
    if row.state != "in_review" or seen != str(row.updated_ms):
        raise Again(errors={}, status=409)


def _guard_approval(page: PageCall) -> None:
    if may_return(page.row):
        refuse_own(page)
    else:
        _refuse_unseen(page)
    if page.call.listing_kind.facts and not is_proven(page.row) and not page.visit.form().text("confirmed"):
        raise Again(errors={"confirmed": UNCONFIRMED}, status=400)


def _reason(page: PageCall, form: FormPost, prefix: str = "") -> str:
    """Return the reason that a form gives: a chosen one, own words, or both. Empty if it gives none.

    Args:
        prefix: the beginning of the names of the form's fields.
    """
    preset = next((each for each in _reasons(page) if each.key == form.text(f"{prefix}reason")), None)
    words = form.text(f"{prefix}words")
    return denial_text(preset.title, preset.text, words) if preset is not None else denial_text(words)


# -- quarantines of the owner -----------------------------------------------------------------------------


def _refuse_other_owner(page: PageCall) -> None:
    """Raise Again if the form means another owner, or Refusal if the owner moderates, too.

    Moderators have no power over each other, nor over themselves.
    """
    refuse_own(page)
    if page.visit.form().text("owner") not in {"", page.row.owner_id}:
        raise Again(errors={"": OTHER_OWNER}, status=409)
    page.call.tools.moderators.refuse_moderator(page.row.owner_id)


def _guard_quarantine(page: PageCall) -> None:
    _refuse_other_owner(page)
    if page.visit.form().text("length") not in LENGTHS:
        raise Again(errors={"length": NO_LENGTH}, status=400)


def _terms(page: PageCall, form: FormPost) -> Mapping[str, Any]:
    length = LENGTHS.get(form.text("length"))
    ms = length.ms if length is not None else None
    return {"reason": form.text("quarantine"), "until": page.call.now_ms + ms if ms is not None else None}


def _on_owner(page: PageCall) -> Call:
    """Return the call about the owner and the act that the form names."""
    return replace(page.call, kind=None, ids=(page.row.owner_id, page.visit.form().text("act")))


async def _impose(page: PageCall, form: QuarantineTerms) -> Success:
    return await impose(_on_owner(page), form)


async def _lift(page: PageCall, _: None) -> Success:
    try:
        return await lift(_on_owner(page), None)
    except Refusal as refusal:
        if refusal.code != "no_such_quarantine":
            raise
        raise Again(refusal, errors={"": error_text(reply_to(refusal))}, status=404) from None


# -- rows -------------------------------------------------------------------------------------------------

_ONE = "/review/{kind}/{id}"


def _form(path: str, post: Post[Any], *, shows: Show[Any] = show, gives_back: bool = False) -> Page[Any]:
    """Return the row of a form of the page."""
    return Page(
        path=f"{_ONE}/{path}",
        template="review",
        of=post.action.of if post.action is not None else "review",
        visitors="moderator",
        show=shows,
        has_get=False,
        posts=(dataclasses.replace(post, access=SEES),),
        gives_back=gives_back,
    )


def _decision(
    path: str,
    action: AnyAction,
    notice: str,
    *,
    guard: Callable[[PageCall], None] = refuse_own,
    shows: Show[Any] = show,
    prefix: str = "",
) -> Page[Any]:
    """Return the row of a decision. The form has the version that was seen; a reason if the action takes one.

    Args:
        prefix: the beginning of the names of the form's fields.
    """
    form_type = form_of(action, None)
    names = form_type.__struct_fields__ if form_type is not None else ()
    takes_reason = "reason" in names

    def check(page: PageCall) -> None:
        guard(page)
        if takes_reason and not _reason(page, page.visit.form(), prefix):
            raise Again(errors={f"{prefix}reason": NO_REASON}, status=400)

    def reads(page: PageCall, form: FormPost) -> Mapping[str, Any]:
        given = {"version": form.get("seen", ""), "reason": _reason(page, form, prefix)}
        return {name: given[name] for name in names}

    post: Post[Any] = Post(
        action=action,
        guard=check,
        reads=reads,
        fields={"version": "", "reason": f"{prefix}words"},
        then=_to_next(notice),
    )
    return _form(path, post, shows=shows, gives_back=takes_reason)


def _to_next(notice: str) -> Callable[[PageCall, Any], Answer]:
    """Redirect to the next listing of the moderator's list, or to the list if it has no other."""

    def then(page: PageCall, _: Any) -> Answer:
        following = next_address(page, page.row)
        if following is None:
            return done(f"/review{wanted_list(page).query()}", notice)
        return done(following, f"{notice}-next")

    return then


def _then(notice: str) -> Callable[[PageCall, Any], Answer]:
    return lambda page, _: done(f"{_here(page)}{wanted_list(page).query()}", notice)


def _seen_reports(_: PageCall, form: FormPost) -> Mapping[str, Any]:
    """Read the ids of the reports that the moderator has seen."""
    return {"seen": form.text("reports").split()}


LISTING_PAGES = (
    Page(path=_ONE, of="review", template="review", visitors="moderator", access=SEES, show=show),
    _form("claim", Post(action=CLAIM, then=_then("claimed")), shows=show_or_overtaken),
    _form("release", Post(action=RELEASE, then=_then("released")), shows=show_or_overtaken),
    _form(
        "notes",
        Post(
            action=NOTE,
            reads=lambda _, form: {"text": form.text("note")},
            fields={"text": "note"},
            then=_then("noted"),
        ),
        gives_back=True,
    ),
    _decision("approve", APPROVE, "approved", guard=_guard_approval, shows=show_or_overtaken),
    _decision("deny", DENY, "denied", guard=_refuse_unseen, shows=show_or_overtaken),
    _decision("agree", AGREE, "agreed"),
    _decision("refuse", REFUSE, "refused"),
    _decision("withdraw", WITHDRAW, "withdrawn", prefix="withdraw_"),
    _form(
        "settle",
        Post(action=SETTLE_REPORTS, guard=refuse_own, reads=_seen_reports, then=_to_next("kept")),
    ),
    _form(
        "quarantine",
        Post(
            action=QUARANTINE_USER,
            guard=_guard_quarantine,
            reads=_terms,
            run=_impose,
            fields={"reason": "quarantine"},
            then=_then("quarantined"),
        ),
        gives_back=True,
    ),
    _form("lift", Post(action=LIFT_QUARANTINE, guard=_refuse_other_owner, run=_lift, then=_then("lifted"))),
)
