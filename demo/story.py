"""All happenings on the demo's platform, in the order of time, by the rules of the gateway."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from heapq import merge
from operator import itemgetter
from random import Random
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from chatplatform.answers import InnerServer, ServerChannel
from chatplatform.listing_checks import ServerConditions, ServerFacts, server_checks
from core.actors import GATEWAY, Actor, user_actor
from core.clock import MS_PER_DAY, day_of
from core.events import (
    DeliveryAttempted,
    DeliveryQueued,
    DownloadCounted,
    Event,
    KeyUsed,
    SessionsEnded,
    SlotsSet,
    StatsUpdated,
    UserSignedIn,
    UserSlotsSet,
    VoteFlagged,
)
from core.ledger import Ledger
from core.rows import (
    Attempt,
    FlagRule,
    InviteCheck,
    Proof,
    ReportReason,
    StatsWindow,
    WebhookEvent,
)
from core.state import State
from core.user_rows import UserProfile, UserSession, user_ref
from core.webhook_events import NewDeliveries
from demo.people import ADA, BEN, CLEO, DAN, GRETA, MODERATORS, NEW_HERE, OTHERS, PEOPLE, Person
from demo.plan import Planned, planned
from demo.trees import template_check, tree_file
from demo.votes import DAYS, HOUR_MS, Voting, votes_of
from forms.file_fields import Decoded
from forms.reading import read
from kinds.kind import Given, ListingEdit
from kinds.registry import kind_of
from languages.refusals import Refusal
from listings import eligibility, invites, keys, owners, reports, review, rules, template_checks, webhooks
from listings.forms import WebhookSettings
from people.choices import set_naming, set_reminder
from votes import ratings
from votes.rules import cast_vote, like
from webhook.attempts import AttemptResult, RetryPolicy, attempt_events

F = TypeVar("F", bound=ListingEdit)
Act = Callable[[State, int], Sequence[Event]]
TOLD_DAYS = 3
"""The last days, whose votes have deliveries. A listing keeps few, so older ones would be gone."""
DENIALS = (
    "It cannot be added: only its owner can add it to a server. Make it public, and turn its code grant off.",
    "It does not answer: it was offline when a moderator tried it, on two days.",
    "The description does not say what it does. Describe its main commands.",
)
NAMED = 12
"""The others who, like Ben, let owners see their names among the top voters."""
ENDPOINT_DOWN_HOURS = 20
"""The hours since the failing endpoint began to fail."""


class Happening(NamedTuple):
    """Something that happens at a time."""

    at_ms: int
    number: int
    act: Act


class Terms(NamedTuple):
    """The settings of the deployment that the rules ask for."""

    cooldown_ms: int
    retries: RetryPolicy
    receiver_url: str
    """The endpoint that answers: that of the stand-in."""


class Story:
    """The happenings of one demo. `digest` is that of API keys."""

    def __init__(self, seed: int, now_ms: int, terms: Terms, digest: Callable[[str], str]) -> None:
        self.listings = planned(seed, now_ms)
        self._by_name = {each.name: each for each in self.listings}
        self._now_ms = now_ms
        self._terms = terms
        self._digest = digest
        self._dice = Random(seed)
        self._happenings: list[Happening] = []
        self._failing = frozenset({self._by_name["Night Radio"].ref})
        self._plan()

    def write(self, ledger: Ledger) -> None:
        """Commit everything, the oldest first."""
        votes = sorted(each for listing in self.listings for each in self._votes(listing))
        happenings = sorted(self._happenings, key=lambda each: each[:2])
        told_ms = self._now_ms - TOLD_DAYS * MS_PER_DAY
        both: Iterator[Happening | Voting] = merge(happenings, votes, key=itemgetter(0))
        for each in both:
            if isinstance(each, Happening):
                ledger.commit(each.act(ledger.state, each.at_ms))
            else:
                self._vote(ledger, each, is_told=each.at_ms > told_ms)

    def files(self) -> Iterator[Decoded]:
        """Yield the files of all listings."""
        for listing in self.listings:
            for field in listing.kind.file_rules:
                yield from listing.files(field)
            if listing.kind.has("tree"):
                yield tree_file(listing)

    # -- The plan of what happens ------------------------------------------------------------------------

    def _at(self, at_ms: int, act: Act) -> None:
        self._happenings.append(Happening(min(at_ms, self._now_ms), len(self._happenings), act))

    def _ago(self, hours: float, act: Act) -> None:
        self._at(self._now_ms - round(hours * HOUR_MS), act)

    def _plan(self) -> None:
        for moderator in MODERATORS[1:]:
            self._ago(24 * 700, partial(_named_moderator, moderator))
        began_ms = {each.owner: each.submitted_ms for each in reversed(self._by_time())}
        for person in PEOPLE:
            if person not in NEW_HERE:
                self._join(person, began_ms.get(person, self._now_ms - 30 * MS_PER_DAY))
                self._sign_in(person)
        for listing in self.listings:
            self._live(listing)
        self._changes()
        self._moderation()
        self._wishes_of_ben()

    def _by_time(self) -> Sequence[Planned]:
        return sorted(self.listings, key=lambda each: each.submitted_ms)

    def _join(self, person: Person, listed_ms: int) -> None:
        """Let somebody sign in for the first time, before the first listing, and sign out."""
        ref, by, digest = user_ref(person.id), user_actor(person.id), self._digest(person.id)
        profile = UserProfile(person.username, person.name, person.avatar, "en-US")
        at_ms = listed_ms - self._dice.randrange(1, 50) * HOUR_MS
        session = UserSession(digest, "Firefox on Linux", at_ms, at_ms)
        self._at(at_ms, lambda *_: [UserSignedIn(ref, profile, session, by=by)])
        self._at(listed_ms + HOUR_MS, lambda _, now_ms: [SessionsEnded(ref, (digest,), now_ms, by=by)])

    def _sign_in(self, person: Person) -> None:
        """Let somebody sign in some days ago, at a computer or a phone."""
        profile = UserProfile(person.username, person.name, person.avatar, "en-US")
        labels = self._dice.sample(
            ("Firefox on Linux", "Chrome on Windows", "Safari on iPhone", "Chrome on Android"), 2
        )
        for label, hours in zip(
            labels, (self._dice.uniform(24, 200), self._dice.uniform(2, 20)), strict=True
        ):
            digest = self._digest(f"{person.id} {label}")

            def act(_: State, at_ms: int, label: str = label, digest: str = digest) -> Sequence[Event]:
                session = UserSession(digest, label, at_ms, at_ms)
                return [UserSignedIn(user_ref(person.id), profile, session, by=user_actor(person.id))]

            self._ago(hours, act)

    def _live(self, listing: Planned) -> None:
        """Submit a listing, decide about it, and set up its keys, webhook and counts."""
        owner = user_actor(listing.owner.id)
        fields = {**listing.fields, "owner_id": listing.owner.id}
        if isinstance(listing.kind.id, Given):
            fields["id"] = listing.id
        if listing.kind.has("invites"):
            fields["invite"] = listing.invite
            self._ago(0.5, partial(_invite_checked, listing))

        def submit(state: State, at_ms: int) -> Sequence[Event]:
            form = read_with_files(listing, listing.kind.submission, fields)
            events = rules.submit(state, listing.ref, form, at_ms, by=owner)
            if listing.kind.has("tree"):
                found, creator = template_check(listing, at_ms), listing.owner.id
                events += template_checks.checked_at_submission(
                    listing.ref, listing.owner.id, found, creator, at_ms, by=owner
                )
            elif listing.kind.has("checks"):
                checked = eligibility.checked_at_submission
                events += checked(
                    listing.ref, listing.owner.id, _checks(listing, at_ms), at_ms, by=owner, approves=False
                )
            return events

        self._at(listing.submitted_ms, submit)
        if listing.fate == "in_review" or listing.kind.is_seen_at_once:
            return
        dice = listing.dice("life")
        moderator = user_actor(dice.choice(MODERATORS).id)
        reason = dice.choice(DENIALS) if listing.fate == "denied" else None
        verdict = rules.Verdict("approved" if reason is None else "denied", reason)
        self._at(
            listing.decided_ms,
            lambda state, at_ms: rules.decide(state, listing.ref, verdict, at_ms, by=moderator),
        )
        if listing.fate == "approved":
            self._equip(listing, dice)

    def _equip(self, listing: Planned, dice: Random) -> None:
        """Give an approved listing keys, a webhook and counts, if its kind has them."""
        ref, owner, since_ms = listing.ref, user_actor(listing.owner.id), listing.decided_ms
        is_mains = listing.owner in (ADA, DAN)
        if listing.is_bot and (is_mains or dice.random() < 0.8):
            for number, name in enumerate(("production", "staging")[: 2 if is_mains else 1]):
                self._key(listing, name, since_ms + (number + 1) * HOUR_MS)
            for day in range(
                day_of(max(since_ms, self._now_ms - DAYS * MS_PER_DAY)) + 1, day_of(self._now_ms)
            ):
                self._at(*_pushed(listing, day, day_of(self._now_ms)))
        if listing.is_bot and (is_mains or dice.random() < 0.7):
            self._at(since_ms - HOUR_MS // 2, partial(_proven, ref, owner))
        self._reviews(listing)
        if listing.kind.has("downloads"):
            count = 40 + round(listing.votes_a_day * dice.uniform(60, 200))
            self._ago(1, lambda *_: [DownloadCounted(ref, count)])
        if listing.kind.has("webhook") and (is_mains or dice.random() < 0.55):
            url = self._terms.receiver_url if is_mains else f"https://hooks.{_host(listing)}/votes"
            if ref in self._failing:
                url = f"https://bot.{_host(listing)}/hooks/votes"
            events: tuple[WebhookEvent, ...] | None = ("vote", "review.denied") if is_mains else None
            form = WebhookSettings(url, token=None, events=events)
            secret = hashlib.sha256(url.encode()).hexdigest()
            policy = webhooks.WebhookPolicy(lambda _: False, lambda: f"whsec_{secret}", 1_000, 1_000)
            self._at(
                since_ms + 3 * HOUR_MS,
                lambda state, at_ms: webhooks.save_webhook(state, ref, form, policy, at_ms, by=owner),
            )

    def _reviews(self, listing: Planned) -> None:
        """Let users review a listing, the last one some hours ago, and its owner answer."""
        ref, owner = listing.ref, user_actor(listing.owner.id)
        deliveries = NewDeliveries(lambda: f"{self._dice.getrandbits(96):024x}", 1_000)
        for number, (stars, text, *answers) in enumerate(listing.works["reviews"]):
            user, words = OTHERS[number].id, ratings.Words(stars, text)
            self._ago(9 + 53 * number, partial(_rated, ref, user, words, deliveries))
            for each in answers:
                self._ago(4 + 53 * number, partial(_answered, ref, user, each, owner))

    def _key(self, listing: Planned, name: str, at_ms: int) -> None:
        owner, value = user_actor(listing.owner.id), self._digest(f"{listing.ref} {name}")
        new = keys.NewKey(value[:24], name, self._digest(value))
        self._at(
            at_ms,
            lambda state, now_ms: keys.issue_key(
                state, listing.ref, new, now_ms=now_ms, keys_per_listing=10, by=owner
            ),
        )
        if name == "production":
            self._ago(1, lambda _, now_ms: [KeyUsed(listing.ref, new.id, day_of(now_ms))])

    def _changes(self) -> None:
        """Edits of approved listings that wait for a moderator."""
        shorter = "A large public place to talk about the day. Quiet rooms, clear rules, events."
        edits: Mapping[str, tuple[float, Mapping[str, Any]]] = {
            "Lyra": (
                5,
                {"short_description": "Shows synced lyrics for the song that plays, with translations"},
            ),
            "Coin Harbor": (27, {"name": "Coin Harbour"}),
            "Town Square": (51, {"description": shorter}),
        }
        for name, (hours, changed) in edits.items():
            listing = self._by_name[name]
            fields = {**listing.fields, **changed, "owner_id": listing.owner.id}
            form, by = (
                read_with_files(listing, listing.kind.edit, fields),
                user_actor(listing.owner.id),
            )
            self._ago(hours, partial(_edited, listing.ref, form, by))

    def _moderation(self) -> None:
        """Claims, notes, flags, co-owners, and a listing that was sent again after a denial."""
        claimed, noted = self._by_name["Kitchen Kit"].ref, self._by_name["Stock Sparrow"].ref
        cleo, greta = user_actor(CLEO.id), user_actor(GRETA.id)
        self._ago(2, lambda state, at_ms: review.claim(state, claimed, at_ms, by=greta))
        note = "I asked the owner which exchange the prices come from."
        self._ago(3, lambda state, at_ms: review.add_note(state, noted, note, at_ms, by=cleo))
        flagged: Sequence[tuple[str, FlagRule]] = (
            ("Coin Harbor", "crowded_address"),
            ("Trivia Tower", "burst"),
        )
        for number, (name, rule) in enumerate(flagged):
            self._ago(9 + number, partial(_flagged, self._by_name[name].ref, PEOPLE[20 + number].id, rule))
        for number, (name, reason, text) in enumerate(REPORTS):
            ref, user = self._by_name[name].ref, PEOPLE[30 + number].id
            self._ago(4 + 9 * number, partial(_reported, ref, user, reason, text))
        self._ago(30, partial(_settled, self._by_name[REPORTS[-1][0]].ref, greta))
        box = self._by_name["Groove Box"].ref
        self._ago(
            900,
            lambda state, at_ms: owners.invite(
                state.listings[box], DAN.id, "d" * 24, at_ms, by=user_actor(ADA.id)
            ),
        )
        self._ago(
            890,
            lambda state, at_ms: owners.accept_invitation(
                state.listings[box], DAN.id, at_ms, by=user_actor(DAN.id)
            ),
        )
        self._ago(
            6,
            lambda state, at_ms: owners.invite(
                state.listings[box], BEN.id, "b" * 24, at_ms, by=user_actor(ADA.id)
            ),
        )

    def _wishes_of_ben(self) -> None:
        for person in (BEN, *OTHERS[:NAMED]):
            self._ago(30, partial(_named, person.id))
        for name in ("Groove Box", "Pixel Harbour", "Trivia Tower"):
            self._ago(1.5, partial(_reminded, self._by_name[name].ref))

    # -- Votes -------------------------------------------------------------------------------------------

    def _votes(self, listing: Planned) -> Iterator[Voting]:
        if listing.fate != "approved":
            return
        yield from votes_of(listing, self._now_ms)
        hours, count = BENS_VOTES.get(listing.name, (0.0, 0))
        for day in range(count):
            yield Voting(self._now_ms - round((hours + 24.2 * day) * HOUR_MS), listing.ref, BEN.id)

    def _vote(self, ledger: Ledger, wanted: Voting, *, is_told: bool) -> None:
        state = ledger.state
        deliveries = NewDeliveries(lambda: f"{self._dice.getrandbits(96):024x}", 1_000)
        at_ms, cooldown_ms = wanted.at_ms, self._terms.cooldown_ms
        if kind_of(wanted.ref).has("likes"):
            ledger.commit(like(state, wanted.ref, wanted.user, now_ms=at_ms))
            return
        try:
            events = cast_vote(
                state, wanted.ref, wanted.user, deliveries, now_ms=at_ms, cooldown_ms=cooldown_ms
            )
        except Refusal:
            return  # the voter was too early
        ledger.commit(events if is_told else events[:1])
        for each in events[1:] if is_told else ():
            if isinstance(each, DeliveryQueued):
                self._deliver(ledger, each)

    def _deliver(self, ledger: Ledger, queued: DeliveryQueued) -> None:
        """Attempt a delivery until it is finished, or its next attempt is in the future."""
        at_ms = queued.at_ms + self._dice.randrange(20, 400)
        while at_ms < self._now_ms:
            delivery = ledger.state.deliveries.find(queued.ref, queued.delivery_id)
            webhook = ledger.state.listings[queued.ref].webhook
            if (
                delivery is None
                or webhook is None
                or (webhook.suspension is not None and at_ms < webhook.suspension.probe_ms)
            ):
                return
            result = AttemptResult(self._attempt(queued.ref, at_ms))
            probe = webhook.suspension is not None
            events = attempt_events(self._terms.retries, delivery, webhook, result, probe=probe)
            ledger.commit(events)
            next_ms = next(each.next_attempt_ms for each in events if isinstance(each, DeliveryAttempted))
            if next_ms is None:
                return
            at_ms = next_ms

    def _attempt(self, ref: str, at_ms: int) -> Attempt:
        is_down = ref in self._failing and at_ms > self._now_ms - ENDPOINT_DOWN_HOURS * HOUR_MS
        if is_down:
            return Attempt(at_ms, self._dice.randrange(90, 400), 502, "http_502", "<h1>502 Bad Gateway</h1>")
        if self._dice.random() < 0.015:
            return Attempt(at_ms, 10_000, None, "timeout", "")
        return Attempt(at_ms, self._dice.randrange(35, 240), 204, None, "")


REPORTS: Sequence[tuple[str, ReportReason, str]] = (
    ("Night Radio", "does_not_work", "It leaves the voice channel after ten seconds, on two servers."),
    ("Meme Mill", "not_as_described", "The page says that it needs no permissions. It asks for all of them."),
    ("Night Radio", "does_not_work", ""),
    ("Night Owls", "broken_invite", "I came to an empty channel, and nobody could let me in."),
    ("Spam Sieve", "other", "There is another bot with this picture."),
    ("Chess Corner", "does_not_work", "It did not answer for an hour."),
)
"""The reports, the newest first. Those of the last listing are settled."""
BENS_VOTES: Mapping[str, tuple[float, int]] = {
    **{
        "Groove Box": (26.0, 40),
        "Trivia Tower": (25.0, 12),
        "Pixel Harbour": (3.0, 24),
        "Gatekeeper Owl": (7.5, 9),
    },
    **{
        "Sakura Lounge": (31.0, 5),
        "Sleepy Sounds": (12.0, 3),
        "Chess Corner": (80.0, 6),
        "Dungeon Dice": (20.0, 2),
    },
}
"""Ben's votes: the hours since the last one, and the number of votes, one a day."""


def _host(listing: Planned) -> str:
    """Return a host of the owner: that of the website, if there is one."""
    name = "".join(each for each in listing.name.lower() if each.isascii() and each.isalnum())
    return f"{name or 'bot' + listing.id[-4:]}.example"


def _pushed(listing: Planned, day: int, today: int) -> tuple[int, Act]:
    """Return the push of counts on a day: the number of servers grows to the planned one."""
    dice = listing.dice(f"push {day}")
    servers = round(listing.size * (1 - 0.0016 * (today - day)) + dice.randrange(-2, 3))
    commands = 12 + listing.size % 30
    at_ms = day * MS_PER_DAY + dice.randrange(MS_PER_DAY)
    return at_ms, lambda _, now_ms: [
        StatsUpdated(listing.ref, max(servers, 1), commands, StatsWindow(now_ms, 1), now_ms)
    ]


def _checks(listing: Planned, now_ms: int) -> Any:
    """Return the conditions of the server, from facts of the chat platform. All are met."""
    inside = InnerServer(
        listing.id,
        listing.name,
        icon=listing.icon,
        owner_id=listing.owner.id,
        has_icon="yes",
        has_community="yes",
        needs_two_factor="yes",
        is_nsfw="no",
        members=listing.size,
        everyone=0,
    )
    facts = ServerFacts(inside=inside, channels=[ServerChannel("general", "no", "yes")], inside_ms=now_ms)
    return server_checks(ServerConditions(), listing.id, facts, now_ms)


def read_with_files(listing: Planned, form: type[F], fields: Mapping[str, Any]) -> F:
    """Return a form with the files of the listing, as the action that takes it puts them there."""
    digests, found = dict[str, Any](), dict[str, Any]()
    for name in listing.kind.file_rules:
        files = [each.file for each in listing.files(name)]
        is_list = isinstance(listing.kind.empty[name], tuple)
        found[name] = tuple(files) if is_list else next(iter(files), None)
        if files:
            digests[name] = [each.digest for each in files] if is_list else files[0].digest
    return replace(read(form, {**fields, **digests}), **found)


def _invite_checked(listing: Planned, state: State, at_ms: int) -> Sequence[Event]:
    check = InviteCheck(listing.invite, at_ms, members=listing.size, online=listing.online)
    return invites.checked(state, listing.ref, check, at_ms, by=GATEWAY)


def _reported(
    ref: str, user: str, reason: ReportReason, text: str, state: State, at_ms: int
) -> Sequence[Event]:
    return reports.report(state.listings[ref], user, reason, text, at_ms)


def _settled(ref: str, by: Actor, state: State, at_ms: int) -> Sequence[Event]:
    return reports.settle(state.listings[ref], None, at_ms, by=by)


def _rated(
    ref: str, user: str, words: ratings.Words, deliveries: NewDeliveries, state: State, at_ms: int
) -> Sequence[Event]:
    return ratings.rate(state, state.listings[ref], user, words, deliveries, now_ms=at_ms, is_member=True)


def _answered(ref: str, user: str, text: str, owner: Actor, state: State, at_ms: int) -> Sequence[Event]:
    return ratings.answer(state, state.listings[ref], user, text, at_ms, by=owner)


def _proven(ref: str, owner: Actor, _: State, at_ms: int) -> Sequence[Event]:
    return [SlotsSet(ref, at_ms, "ownership_proven", proof=Proof(at_ms, owner), by=owner)]


def _named(user: str, state: State, at_ms: int) -> Sequence[Event]:
    return set_naming(state, user, at_ms, is_allowed=True, by=user_actor(user))


def _named_moderator(person: Person, _: State, at_ms: int) -> Sequence[Event]:
    return [UserSlotsSet(user_ref(person.id), at_ms, role="moderator")]


def _edited(ref: str, form: ListingEdit, by: Actor, state: State, at_ms: int) -> Sequence[Event]:
    return rules.edit(state, ref, form, at_ms, by=by)


def _flagged(ref: str, user: str, rule: FlagRule, _: State, at_ms: int) -> Sequence[Event]:
    return [VoteFlagged(ref, user, rule, f"{at_ms:024x}", at_ms)]


def _reminded(ref: str, state: State, at_ms: int) -> Sequence[Event]:
    return set_reminder(state, BEN.id, ref, at_ms, by=user_actor(BEN.id))
