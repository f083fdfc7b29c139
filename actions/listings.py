"""Listings: submit, list, show, edit and remove them, and the numbers that the operator sets for a bot.

Decisions about listings are in the file of the review.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple, get_args

from msgspec.structs import asdict

from actions.action import Access, Action, Call, Command, Option
from actions.history import SHOW_HISTORY
from actions.listing_views import (
    VIEWS,
    LimitsAnswer,
    ListingAnswer,
    ListingPage,
    ServerCount,
    ShownListing,
    commit_listing,
    limits_view,
    listing_answer,
    listing_view,
    stats_problem_views,
)
from actions.query_forms import LISTINGS_QUERIES, ListingsQuery
from actions.uploads import E, with_files
from actions.views import Success
from core.actors import user_of
from core.events import Event, ListingSaved
from core.rows import InviteCheck, Listing, Review, ServerCheck, TemplateCheck
from grammars.tags import tag_of
from kinds.kind import ListingEdit, ListingSubmission
from kinds.registry import KINDS
from languages.refusals import Invalid, Refusal
from languages.said import Fault
from listings import eligibility, rules, template_checks
from listings.forms import ActualServerCount, Limits, WebhookSettings
from listings.invites import checked_at_save, fault_of
from listings.owners import invited_at_submission
from listings.queries import page
from listings.rules import listing_of
from listings.webhooks import first_chat_webhook
from people.quarantine import refuse_of_quarantined_owner, refuse_quarantined


class CheckedSubmission(NamedTuple):
    """A submission with the checks that were just made of it, and its first webhook.

    Args:
        approves: true if the gateway itself approves a listing that meets every condition.
    """

    form: ListingSubmission
    checks: Sequence[ServerCheck]
    webhook: WebhookSettings | None
    approves: bool


Submission = Annotated[ListingSubmission, {kind.plural: kind.submission for kind in KINDS}]
Query = Annotated[ListingsQuery, LISTINGS_QUERIES]
Edit = Annotated[ListingEdit, {kind.plural: kind.edit for kind in KINDS}]


async def submit(call: Call, form: Submission) -> ListingAnswer:
    """Submit a listing, and invite the co-owners that it names."""
    kind, ref = call.listing_kind, call.listing_kind.new_ref(form, call.tools.random)
    call, form, invite = await _prepared(call, ref, form)
    call, template = await _template_asked(call, ref)
    _refuse_waiting(call, form.owner_id)
    by, now_ms = call.by, call.now_ms
    events = rules.submit(call.state, ref, form, now_ms, by=by)
    events += _invite_known(ref, invite, call)
    if kind.known_as == "template" and call.tools.templates is not None:
        events += template_checks.checked_at_submission(ref, form.owner_id, *template, now_ms, by=by)
    if kind.co_owners is not None:
        events += invited_at_submission(ref, form.extra_owners, call.tools.new_id, now_ms, by=by)
    return await commit_listing(call, ref, events)


async def submit_checked(call: Call, checked: CheckedSubmission) -> Success:
    """Submit a listing that was checked. The caller has made the checks, which may have taken seconds, and
    comes with `rechecked()`."""
    form, tools = checked.form, call.tools
    ref = call.listing_kind.new_ref(form, tools.random)
    call, form, invite = await _prepared(call, ref, form)
    by, now_ms = call.by, call.now_ms
    events = rules.submit(call.state, ref, form, now_ms, by=by)
    events += _invite_known(ref, invite, call)
    events += eligibility.checked_at_submission(
        *(ref, form.owner_id, checked.checks, now_ms),
        by=by,
        approves=checked.approves,
        tells_owner=tools.tells_owners,
    )
    if checked.webhook is not None:
        events += first_chat_webhook(ref, checked.webhook, tools.webhooks, now_ms, by=by)
    return await commit_listing(call, ref, events)


def _refuse_waiting(call: Call, owner_id: str) -> None:
    """Raise Refusal for an owner with as many listings in review as the kind allows."""
    review, listings = call.listing_kind.review, call.state.listings
    if review is None or review.most_waiting is None:
        return
    owned = [
        ref for ref in call.tools.ownership.refs_of(owner_id) if ref.startswith(call.listing_kind.prefix)
    ]
    rows = [listings.peek(ref) for ref in owned]
    waiting = [row for row in rows if row.owner_id == owner_id and row.state == "in_review"]
    if len(waiting) >= review.most_waiting:
        raise Refusal("too_many_waiting", most=review.most_waiting)


def index(call: Call, form: Query) -> ListingPage:
    """Return a page of the listings of a kind."""
    kind = call.listing_kind
    rows, following = page(call.state, kind.prefix, after=form.after, review=form.state, limit=form.limit)
    shown = {kind.plural: tuple(map(listing_view, rows)), "next": following}
    listed: Success = VIEWS[kind.plural].page(**shown)
    return listed


def show(call: Call, _: None) -> ShownListing:
    """Return a listing, with the errors of its pushes."""
    row, kind = listing_of(call.state, call.ref), call.listing_kind
    if kind.stats is None:
        return listing_answer(row)
    problems = stats_problem_views(call.tools.problems.of(row.ref))
    shown: Success = VIEWS[kind.plural].shown(**asdict(listing_view(row)), stats_problems=problems)
    return shown


async def edit(call: Call, form: Edit) -> ListingAnswer:
    """Edit a listing, unless its owner or the person who edits it may not submit listings."""
    return await edit_guarded(call, form, lambda _: None)


async def edit_guarded(call: Call, form: ListingEdit, guard: Callable[[Listing], None]) -> ListingAnswer:
    """Edit a listing, unless `guard` raises for it as it is once nothing takes time any more."""
    ref = call.ref
    call, form, invite = await _prepared(call, ref, form)
    state, now_ms, by = call.state, call.now_ms, call.by
    guard(listing_of(state, ref))
    owner = listing_of(state, ref).owner_id
    events = rules.edit(state, ref, form, now_ms, by=by, shown=call.tools.edits)
    if any(isinstance(event, ListingSaved) for event in events):
        refuse_quarantined(state, user_of(by) or owner, "submit", now_ms)
        refuse_of_quarantined_owner(state, owner, now_ms, by=by)
        events += _invite_known(ref, invite, call)
    return await commit_listing(call, ref, events)


async def _taken_known(call: Call) -> Call:
    """Complete the indexes of unique values and owners at their first use. Return the call to go on with."""
    tools, kind = call.tools, call.listing_kind
    is_bounded = kind.review is not None and kind.review.most_waiting is not None
    is_known = tools.unique.is_complete and tools.ownership.is_complete
    if is_known or not (kind.unique or is_bounded):
        return call
    await tools.in_slices(tools.unique.survey())
    await tools.in_slices(tools.ownership.survey())
    return call.rechecked()


async def _prepared(call: Call, ref: str, form: E) -> tuple[Call, E, InviteCheck | None]:
    """Return the call to go on with, the form with its files, and the platform's answer about its invite.

    Raises Invalid.
    """
    _refuse_denied_tags(call, form)
    call, form = await with_files(call, form)
    call, invite = await _invite_asked(call, ref, form)
    call = await _taken_known(call)
    call.tools.unique.refuse_taken(ref, form)
    return call, form, invite


def _refuse_denied_tags(call: Call, form: ListingEdit) -> None:
    """Raise Invalid for a form with a tag that the deployment does not allow."""
    kind, denied = call.listing_kind, call.tools.denied_tags
    faults = {
        f"{name}.{number}": Fault("tag_denied")
        for name in kind.found_by.get("keyword", ())
        for number, text in enumerate(kind.texts(form, name))
        if tag_of(text) in denied
    }
    if faults:
        raise Invalid(faults)


async def _invite_asked(call: Call, ref: str, form: ListingEdit) -> tuple[Call, InviteCheck | None]:
    """Ask the chat platform about an invite that the listing does not have yet.

    Returns the call to go on with, and the answer; None if there is none, which a later check finds. Raises
    Invalid for an invite that is not valid.
    """
    kind, tools, row = call.listing_kind, call.tools, call.state.listings.get(ref)
    code, name = kind.invite_code(form), kind.invite_name
    is_known = row is not None and code == kind.invite_code(row.latest)
    if code is None or name is None or is_known or tools.invites is None:
        return call, None
    found = await tools.invites.ask(ref.partition("/")[2], code)
    if found is not None and found.problem is not None:
        raise Invalid({name: fault_of(found.problem)})
    return call.rechecked(), found


async def _template_asked(call: Call, ref: str) -> tuple[Call, tuple[TemplateCheck | None, str | None]]:
    """Ask the chat platform about a template that is to be listed.

    Returns the call to go on with, the answer and the user who made the template; None for what the platform
    does not say. Raises Invalid for a template that does not exist.
    """
    asked = call.tools.templates
    if call.listing_kind.known_as != "template" or asked is None or ref in call.state.listings:
        return call, (None, None)
    found = await asked.ask(ref.partition("/")[2])
    if found is not None and found[0].problem is not None:
        raise Invalid({"id": Fault("template_gone")})
    return call.rechecked(), found or (None, None)


def _invite_known(ref: str, found: InviteCheck | None, call: Call) -> list[Event]:
    return [checked_at_save(ref, found, call.now_ms, by=call.by)] if found is not None else []


async def remove(call: Call, _: None) -> Success:
    """Remove a listing with all that belongs to it."""
    return await call.done(rules.remove(call.state, call.ref, call.now_ms, by=call.by))


async def set_actual_count(call: Call, form: ActualServerCount) -> ServerCount:
    """Set how many servers a bot is really in."""
    count = form.server_count
    events = rules.set_actual_count(call.state, call.ref, count, call.now_ms, by=call.by)
    return await call.commit(events, lambda: ServerCount(server_count=count))


async def set_limits(call: Call, form: Limits) -> LimitsAnswer:
    """Give a bot limits of its own."""
    events = rules.set_limits(call.state, call.ref, form, call.now_ms, by=call.by)
    return await call.commit(
        events, lambda: LimitsAnswer(**asdict(limits_view(listing_of(call.state, call.ref))))
    )


SUBMIT = Action(
    name="submit{Thing}",
    run=submit,
    access=Access(unless="submit"),
    route="POST /manage/{kind}",
    summary="Submit a {thing}",
    about={
        kind.plural: (
            "Everybody sees the {thing} at once."
            if kind.is_seen_at_once
            else "The {thing} is in review until a moderator approves or denies it."
        )
        + (" The users in `extra_owners` are invited." if kind.co_owners else "")
        for kind in KINDS
    },
    outcome={
        kind.plural: "The {thing}." if kind.is_seen_at_once else "The {thing}, in review." for kind in KINDS
    },
    refuses=("listing_exists", "too_many_waiting"),
    status=201,
    command=Command("{kind} submit"),
)
LIST = Action(
    name="list{Thing}s",
    run=index,
    route="GET /manage/{kind}",
    summary="List {kind}",
    about="The list is in pages, in the order of the ids as text.",
    outcome="A page of {kind}.",
    command=Command(
        "{kind} list",
        "List all {kind}.",
        {"state": Option("--state", choices=get_args(Review), help="Only {kind} in this state.")},
        is_whole=True,
    ),
)
SHOW = Action(
    name="show{Thing}",
    run=show,
    access=Access("see"),
    route="GET /manage/{kind}/{id}",
    summary="Show a {thing}",
    about="The answer has everything about the {thing} except its keys, votes and deliveries.",
    outcome={
        kind.plural: "The {thing}, and recent errors of its pushes." if kind.stats else "The {thing}."
        for kind in KINDS
    },
    command=Command("{kind} show"),
)
EDIT = Action(
    name="edit{Thing}",
    run=edit,
    access=Access("edit"),
    route="PUT /manage/{kind}/{id}",
    summary="Edit a {thing}",
    about=(
        "Replaces the profile. An approved {thing} stays approved; its edit is a `change` until a "
        "moderator decides, and `review.edits` of the settings says which version everybody sees "
        "until then. A denied {thing} goes back to review. Nobody can edit a {thing} whose owner "
        "is under a quarantine for `submit`. A new `owner_id` takes effect at once. To ask the new "
        "owner first, offer them the {thing}."
    ),
    outcome="The {thing}.",
    refuses=("owner_quarantined",),
    command=Command("{kind} edit"),
)
REMOVE = Action(
    name="remove{Thing}",
    run=remove,
    access=Access("remove", fresh=True),
    route="DELETE /manage/{kind}/{id}",
    summary="Remove a {thing}",
    about={
        kind.plural: "The {thing} is removed with its "
        + ("keys, " if kind.keys else "")
        + "webhook, votes and deliveries."
        for kind in KINDS
    },
    outcome="Confirmation that the {thing} is removed.",
    command=Command(
        "{kind} remove",
        loses={
            kind.plural: "This removes the {thing} {name}, with its "
            + ("keys, " if kind.keys else "")
            + "votes, deliveries and webhook."
            for kind in KINDS
        },
    ),
)
SET_ACTUAL_COUNT = Action(
    name="setActualServerCount",
    run=set_actual_count,
    route="PUT /manage/{kind}/{id}/actual-server-count",
    of="stats",
    summary="Set a {thing}'s actual server count",
    about=(
        "The {thing}'s pushes are compared with this number if the setting guild_counts.source is operator. "
        "If the setting is platform, the number is used only if the chat platform gives no count."
    ),
    outcome="The saved number.",
    command=Command("counts"),
)
SET_LIMITS = Action(
    name="setLimits",
    run=set_limits,
    route="PUT /manage/{kind}/{id}/limits",
    of="keys",
    summary="Set a {thing}'s rate limits",
    about="Replaces both limits. A limit that is left out is the deployment's default.",
    outcome="The {thing}'s own limits.",
    command=Command("limits"),
)
LISTING_ACTIONS = (SUBMIT, LIST, SHOW, SHOW_HISTORY, EDIT, REMOVE)
NUMBER_ACTIONS = (SET_ACTUAL_COUNT, SET_LIMITS)
"""The actions that set numbers of bots."""
