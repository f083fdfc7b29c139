"""All data about a person: the download, and the erasure.

    /me/data        says what is kept, and takes the word that confirms the erasure
    /me/data.json   the download

Invariant: the download has what the operator's erasure forgets, the quarantines in force, which that keeps,
and the cooldowns of votes, which the operator's erasure ends.

A search goes through all listings in slices, as the erasure does, so other requests are served meanwhile.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from actions.action import Call
from actions.users import FORGET_USER, forget
from actions.views import Success
from blobs.blob_store import Blobs
from core.actors import user_actor, user_of
from core.due_reminders import due_reminders, ends_ms
from core.listing_table import ref_slices
from core.rows import UNSTAMPED, Listing, OwnerMessage, Policy
from core.state import State
from core.user_rows import ReminderMessage, UserRow, user_ref
from handlers.reply import Reply
from kinds.kind import Kind
from kinds.registry import KINDS, kind_of
from languages.texts import Text
from pages.page import ANYTHING, NOT_REFUSED, Again, AnyPage, Page, PageCall, Post, Shown
from pages.shared_texts import done
from pages.visitors import HOME, ask_stale
from people.permissions import unnamed
from votes.queries import refs_that_know
from web.pages import Done

DOWNLOADS = Policy(4, 3_600)
"""The limit of a person's downloads: each takes up to a second of the processor, in slices."""
STALE = Text(
    "You signed in more than an hour ago. An erasure cannot be undone, so sign in again to confirm it. "
    "Nothing has changed yet."
)
WORD = "erase"
"""The word that a person types to confirm the erasure."""
FOUND = (
    *("votes", "cooldowns", "webhook_deliveries", "direct_messages", "flagged_votes", "reports", "acts"),
    *("keys_made", "acts_on_users"),
)
"""The parts of the download that a search finds."""


def show(page: PageCall) -> Shown[None]:
    ownership, user_id = page.call.tools.ownership, page.person.id
    refs = ownership.refs_of(user_id)
    refs = [ref for ref in refs if not kind_of(ref).is_of_user]  # what is about the user goes, too
    owned = sum(page.call.state.listings.brief(ref).owners[0] == user_id for ref in refs)
    values = {
        "typed": page.visit.form().text("word") if page.refused is not NOT_REFUSED else "",
        "word": WORD,
        "owned": owned,
        "shared": len(refs) - owned,
        "is_complete": ownership.is_complete,
    }
    return Shown(None, Text("My data"), values)


async def download(page: PageCall) -> Reply:
    """Return all data about the person, as JSON."""
    call, user_id = page.call, page.person.id
    page.site.accounts.downloads.take(user_id)
    await call.tools.in_slices(call.tools.ownership.survey())
    known = _Known(call.state, user_id, call.tools.vote_pseudonym)
    await call.tools.in_slices(known.slices())
    call = call.rechecked()
    await call.tools.in_slices(known.cooldown_slices(call.now_ms))
    await call.tools.in_slices(known.slices_of([kind for kind in KINDS if kind not in call.tools.kinds]))
    files = list(_files(page.site.blobs, call.tools.ownership.refs_of(user_id), user_id))
    body = msgspec.json.format(
        msgspec.json.encode({**_everything(call, user_id, known), "files": files}), indent=2
    )
    headers = {"content-disposition": f'attachment; filename="my-data-{user_id}.json"'}
    return Reply(200, body, headers)


async def erase(page: PageCall, _: object) -> Success:
    """Erase the person, who must have signed in recently: a stolen session is not enough."""
    if page.visit.form().text("word").lower() != WORD:
        raise Again(errors={"word": Text("Type {word} to confirm.", word=WORD)}, status=400)
    ask_stale(page.visit, page.call.now_ms, STALE)
    return await forget(replace(page.call, ids=(page.person.id,)), None)


def say_goodbye(page: PageCall, _: Success) -> Done:
    page.site.submissions.server_lists.forget(page.person.id)
    cleared = page.site.accounts.cookies.session.cleared()
    return done(HOME, "erased", {"clear-site-data": '"cache", "storage"'}, (cleared,))


def _everything(call: Call, user_id: str, known: "_Known") -> dict[str, Any]:
    row, ownership = call.state.users.get(user_ref(user_id)), call.tools.ownership
    return {
        "id": user_id,
        "at_ms": call.now_ms,
        "account": _account(row) if row is not None else {},
        "reminders": _reminders(call, row) if row is not None else [],
        "reviews": _ratings(row) if row is not None else [],
        "listings": sorted({*ownership.refs_of(user_id), *known.not_offered}),
        "about_you": [
            {"listing": ref, **asdict(call.state.listings.peek(ref).latest)}
            for ref in (kind.ref(user_id) for kind in KINDS if kind.is_of_user)
            if ref in call.state.listings
        ],
        "invitations": list(ownership.asking(user_id)),
        **known.found,
    }


def _files(blobs: Blobs, refs: Iterable[str], user_id: str) -> Iterator[dict[str, Any]]:
    """Yield the files of the user's listings, and those that wait for one. Each can be had at its path."""
    for ref in sorted(refs):
        for file in sorted(set(blobs.names.files_of(ref)), key=lambda file: file.digest):
            yield {"listing": ref, "path": file.path, **msgspec.to_builtins(file)}
    yield from ({"listing": None, "digest": digest} for digest in blobs.sent_by(user_id))


def _reminders(call: Call, row: UserRow) -> list[dict[str, Any]]:
    """Return the reminders, and which of them are notices now."""
    state, cooldown_ms = call.state, call.tools.cooldown_ms
    due = {each.reminder.listing: each for each in due_reminders(state, row, cooldown_ms, call.now_ms)}
    return [
        {
            "listing": each.listing,
            "set_ms": each.set_ms,
            "ends_ms": ends_ms(state, row, each, cooldown_ms),
            "is_due": each.listing in due,
            "is_new": each.listing in due and due[each.listing].is_new,
            **({"direct_message": _attempted(each.message)} if each.message is not None else {}),
        }
        for each in row.reminders_on
    ]


def _ratings(row: UserRow) -> list[dict[str, Any]]:
    """Return the reviews that the user wrote, and what moderators said about those that they removed."""
    kept = (each for each in row.ratings if each.stars or each.reason)
    return [
        {
            **{name: getattr(each, name) for name in ("listing", "at_ms", "stars", "text")},
            **({"edited_ms": each.edited_ms} if each.edited_ms else {}),
            **({"removed_because": each.reason} if each.reason else {}),
            **({"answer": each.answer.text} if each.answer is not None and each.answer.text else {}),
        }
        for each in kept
    ]


class _Known:
    """The traces of a user in listings, other users' rows and cooldowns; complete when the iterators end."""

    def __init__(self, state: State, user_id: str, pseudonym_of: Callable[[str, str], str]) -> None:
        self.found: dict[str, list[dict[str, Any]]] = {name: [] for name in FOUND}
        self.not_offered: list[str] = []
        """The user's listings of kinds that this site does not offer: no index has them."""
        self._state = state
        self._user = user_id
        self._actor = user_actor(user_id)
        self._pseudonym_of = pseudonym_of

    def slices(self) -> Iterator[None]:
        for refs in refs_that_know(self._state, self._user):
            for ref in refs:
                self._look(ref)
            yield

    def slices_of(self, kinds: Sequence[Kind]) -> Iterator[None]:
        """Look for the user's listings of these kinds."""
        listings, prefixes = self._state.listings, tuple(kind.prefix for kind in kinds)
        for refs in ref_slices(listings.refs) if prefixes else ():
            some = (ref for ref in refs if ref.startswith(prefixes))
            self.not_offered += (ref for ref in some if self._user in listings.brief(ref).owners)
            yield

    def cooldown_slices(self, now_ms: int) -> Iterator[None]:
        """Look for cooldowns whose votes are gone.

        A pseudonym names neither listing nor user, so this tries each listing.
        """
        cooldowns = self._state.cooldowns
        for refs in ref_slices(self._state.listings.refs) if cooldowns else ():
            ends = ((ref, cooldowns.get(self._pseudonym_of(ref, self._user), 0)) for ref in refs)
            self._add("cooldowns", ({"listing": ref, "ends_ms": ms} for ref, ms in ends if ms > now_ms))
            yield

    def _add(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        self.found[name] += rows

    def _look(self, ref: str) -> None:
        vote = self._state.votes.get(ref, int(self._user))
        if vote is not None:
            self._add("votes", [{"listing": ref, "votes": vote[0], "last_ms": vote[1]}])
        self._add(
            "webhook_deliveries",
            (
                {"listing": ref, "id": row.id, "queued_ms": row.queued_ms}
                for row in self._state.deliveries.of(ref)
                if row.user == self._user
            ),
        )
        listing, user = self._state.listings.get(ref), self._state.users.get(ref)
        if listing is not None:
            self._look_at_listing(listing)
        elif user is not None:
            self._add(
                "acts_on_users",
                (
                    {"user": user.id, "act": each.act, "reason": each.reason, "at_ms": each.since_ms}
                    for each in user.quarantines
                    if each.by == self._actor
                ),
            )

    def _look_at_listing(self, listing: Listing) -> None:
        ref, actor = listing.ref, self._actor
        self._add("acts", self._acts(listing))
        made = (key for key in listing.keys if actor in key.makers)
        self._add("keys_made", ({"listing": ref, "id": key.id, "name": key.name} for key in made))
        flagged = (flag for flag in listing.flags if flag.by == actor)
        flags = ({"listing": ref, "at_ms": flag.at_ms, "rule": flag.rule} for flag in flagged)
        self._add("flagged_votes", flags)
        mine = (each for each in listing.open_reports if each.by == actor)
        self._add(
            "reports",
            (
                {
                    **{"listing": ref, "at_ms": each.at_ms, "reason": each.reason, "text": each.text},
                    **({"review_of": user_of(each.rating)} if each.rating else {}),
                }
                for each in mine
            ),
        )
        if listing.message is not None and listing.message.to == actor:
            self._add("direct_messages", [{"listing": ref, **_told(listing.message)}])

    def _acts(self, row: Listing) -> Iterator[dict[str, Any]]:
        for act in row.audit_log:
            if act.by == self._actor:
                yield {"listing": row.ref, "at_ms": act.at_ms, "deed": act.action, "about": act.about}
        for note in row.notes:
            if note.by == self._actor:
                yield {"listing": row.ref, "at_ms": note.at_ms, "deed": "noted", "about": note.text}
        for deed, held in (("claimed", row.claim), ("proved", row.proof)):
            if held is not None and held.by == self._actor:
                yield {"listing": row.ref, "at_ms": held.at_ms, "deed": deed, "about": ""}
        if row.change is not None and row.change.by == self._actor:
            yield {"listing": row.ref, "at_ms": row.change.sent_ms, "deed": "changed", "about": ""}
        if row.taken is not None and row.taken.lost_by == self._actor:
            yield {"listing": row.ref, "at_ms": row.taken.at_ms, "deed": "lost", "about": ""}


def _attempted(message: ReminderMessage) -> dict[str, Any]:
    return {
        "ends_ms": message.ends_ms,
        "attempts": message.made,
        "delivered": message.next_attempt_ms is None and message.last.error is None,
    }


def _told(message: OwnerMessage) -> dict[str, Any]:
    return {
        "decision": message.decision,
        "decided_ms": message.decided_ms,
        "attempts": message.made,
        "delivered": message.delivered,
    }


def _account(row: UserRow) -> dict[str, Any]:
    """Return the account with every field, also those that a row leaves out because they have their defaults.

    Reminders are listed apart. Digests of sessions are left out, and so are ended sessions, which have
    nothing but digests.
    """
    naming = {} if row.naming is None else {"naming": msgspec.to_builtins(row.naming)}
    sessions = [asdict(session) for session in row.sessions]
    for session in sessions:
        del session["digest"]
    settled = [asdict(each) for each in row.settled]
    return {
        "ref": row.ref,
        "first_ms": row.first_ms,
        "profile": asdict(row.profile) if row.profile is not None else None,
        "sessions": sessions,
        "role": row.role,
        "quarantines": [
            {**asdict(each), "by": unnamed(each.by), "stamp": each.stamp or UNSTAMPED}
            for each in row.quarantines
        ],
        "stamps": row.known_stamps,
        "read_ms": row.read_ms,
        **naming,
        **({} if row.mail is None else {"mail": msgspec.to_builtins(row.mail)}),
        **({} if not row.mails else {"mails": msgspec.to_builtins(row.mails)}),
        **({"settled_reports": settled} if settled else {}),
    }


MY_DATA: tuple[AnyPage, ...] = (
    Page(
        path="/me/data",
        template="my_data",
        has_json=False,
        show=show,
        # The page asks for a fresh sign-in in words of its own, once the word is right.
        posts=(Post(action=FORGET_USER, access=ANYTHING, run=erase, then=say_goodbye),),
    ),
    Page(path="/me/data.json", has_json=False, show=download),
)
