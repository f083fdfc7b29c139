"""The builder of the API: its callers, its endpoints, and the values that they need. No logic."""

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from actions.tools import Tools
from chatplatform.template_questions import Keep, ServerTemplates
from core.rows import Policy
from decoder.decoder import Decoder
from gateway.delivery import Delivering, Egress, webhook_policy
from gateway.fleet import Fleet
from gateway.store import ROOT, Runtime, Store, decode_command
from handlers.late import Late
from handlers.operator import Operator
from handlers.public import PublicApi, PublicBounds, PublicLimits
from handlers.reply import Reply
from handlers.request import Request
from handlers.route import AnswerVariant, Endpoints
from handlers.routes import DOCUMENTS, DocumentPage
from handlers.slices import in_slices
from handlers.visitor_limit import VisitorLimit
from handlers.vote_feed import TAGS as VOTE_TAGS
from handlers.vote_feed import VoteFeed
from journal.record_pages import JournalPages
from listings.keys import KeyDigester
from listings.ownership import Ownership
from listings.unique_values import UniqueValues
from openapi.deployment import Deployment, Window
from people.permissions import Moderators
from people.user_sessions import Sessions, SessionTerms, Terms
from ratelimit.bucket import FailureGuard
from replication.facts import KeyedDigests
from settings.model import (
    FailuresLimitSettings,
    Settings,
    StatsLimitSettings,
    VotersLimitSettings,
    WebSettings,
)
from votes.queries import Searches
from watchers.attempt_watch import AttemptWatch
from watchers.lost_values import LostValues
from watchers.refused_addresses import RefusedAddresses
from web.static_files import read_static_files

if TYPE_CHECKING:
    from openapi.page import PageFrame
    from web.brand import Brand

MOST_DECODERS = 2


@dataclass(frozen=True)
class Callers:
    """The callers of the API: bots, the operator, and addresses that fail too often."""

    digester: KeyDigester
    operator: Operator
    failures: FailureGuard
    refused: RefusedAddresses


@dataclass(frozen=True)
class Api:
    """The API without its endpoints, which need the sites. Pages ask it, too."""

    callers: Callers
    public: PublicApi
    managed: Tools
    decoder: Decoder
    watch: AttemptWatch
    feed: VoteFeed
    readiness: Callable[[], str | None]
    """Returns None when the gateway is ready, else why it is not."""
    lost_values: LostValues


@contextmanager
def open_api(
    runtime: Runtime,
    store: Store,
    fleet: Fleet,
    egress: Egress,
    delivery: Delivering,
    searches: Searches,
    ownership: Ownership,
) -> Iterator[Api]:
    """Make the API. Its thread, which reads votes of the journal for streams, ends with the context."""
    settings, ledger = runtime.settings, store.ledger
    callers = _callers(runtime, store)
    public = _public_api(runtime, store, callers, egress, fleet)
    moderators = Moderators(ledger.state, frozenset(settings.web.moderators))
    watch = AttemptWatch(ledger.durable, settings.webhooks.timeout_seconds + 1)
    decoder = Decoder(decode_command, ROOT, min(MOST_DECODERS, os.cpu_count() or 1))
    managed = Tools(
        ledger,
        runtime.clock,
        callers.digester,
        new_id=lambda: secrets.token_hex(12),
        random=secrets.token_bytes,
        window_ms=settings.votes.window_ms,
        cooldown_ms=settings.votes.cooldown_ms,
        keys_per_listing=settings.keys.per_listing,
        webhooks=webhook_policy(settings.webhooks, egress.requests, secrets.token_bytes),
        expecting=watch.expecting,
        searches=searches,
        in_slices=in_slices,
        problems=public.problems,
        missing_count=egress.guild_counts.missing,
        moderators=moderators,
        sessions=Sessions(ledger.state, moderators, _session_terms(settings.web)),
        ownership=ownership,
        kinds=settings.kinds.offered,
        without=settings.without,
        unique=UniqueValues(ledger.state),
        claims=fleet.claims.holding if fleet.claims is not None else None,
        pseudonym=fleet.digest_of,
        tells_owners=bool(delivery.direct_messages),
        keeps_email=settings.web.keep_email,
        edits=settings.review.edits,
        denied_tags=frozenset(settings.review.denied_tags),
        vote_pseudonym=KeyedDigests(callers.digester.secret).vote,
        files=store.blobs,
        decode=decoder.decode,
        count_upload=VisitorLimit(Policy(settings.files.uploads_per_minute, 60), runtime.clock).take,
        upload_bytes=settings.files.upload_bytes,
        invites=egress.invites,
        is_member=egress.platform.is_member if egress.platform and egress.platform.has_bot else None,
        templates=_templates(runtime, egress, store.blobs.put),
    )
    lost = LostValues(ledger, runtime.clock, managed.unique, in_slices, fleet.asks)
    ready = _readiness(runtime, store, fleet)
    with closing(decoder), JournalPages(store.folder, store.journal, VOTE_TAGS) as pages:
        most = settings.votes.feed_streams
        feed = VoteFeed(ledger.state, pages, lambda: ledger.durable(ledger.head), most)
        yield Api(callers, public, managed, decoder, watch, feed, ready, lost)


def _callers(runtime: Runtime, store: Store) -> Callers:
    limits, clock = runtime.settings.limits, runtime.clock
    refused = RefusedAddresses(clock)
    began = runtime.observers.calling("refused_addresses", refused.began)
    failures = FailureGuard(limits.failures, limits.addresses_kept, began)
    operator = Operator(store.secrets.operator_tokens, failures, clock)
    return Callers(KeyDigester(store.secrets.digest.encode()), operator, failures, refused)


def _session_terms(web: WebSettings) -> Terms:
    def terms(idle_seconds: float, longest_seconds: float) -> SessionTerms:
        return SessionTerms(round(idle_seconds * 1_000), round(longest_seconds * 1_000))

    return Terms(
        users=terms(web.session_idle_seconds, web.session_seconds),
        moderators=terms(web.moderator_session_idle_seconds, web.moderator_session_seconds),
    )


def _templates(runtime: Runtime, egress: Egress, keep: Keep) -> ServerTemplates | None:
    """Return the questions about templates; None for a gateway that does not ask the chat platform."""
    return ServerTemplates(egress.platform, keep, runtime.clock) if egress.platform is not None else None


def _public_api(runtime: Runtime, store: Store, callers: Callers, egress: Egress, fleet: Fleet) -> PublicApi:
    settings, limits = runtime.settings, runtime.settings.limits
    return PublicApi(
        store.ledger,
        runtime.clock,
        callers.digester,
        PublicLimits(
            callers.failures,
            Policy(limits.stats.requests, limits.stats.window_seconds),
            Policy(limits.voters.requests, limits.voters.window_seconds),
            voters=fleet.voters,
        ),
        egress.guild_counts,
        PublicBounds(settings.votes.window_ms, settings.stats.max_difference, settings.server.max_body_bytes),
    )


def _readiness(runtime: Runtime, store: Store, fleet: Fleet) -> Callable[[], str | None]:
    def reason() -> str | None:
        if runtime.stop.is_set():
            is_replaced = runtime.worker is not None and runtime.worker.balance.others_accept
            return None if is_replaced else "stopping"
        if store.journal.why_not_writable is not None:
            return f"the journal does not take writes: {store.journal.why_not_writable}"
        return fleet.why_not_ready()

    return reason


def all_endpoints(
    settings: Settings,
    api: Api,
    is_signed_in: Callable[[Request], bool],
    missing_workers: Callable[[], Sequence[int]],
    brand: "Brand | None",
) -> Endpoints:
    """Return every endpoint, bound to the values it needs.

    Args:
        brand: the look of the sites; None without a site.
    """
    managed = api.managed
    return Endpoints(
        Late(partial(_description, settings)),
        {each.path: _document_variants(settings, brand, each) for each in DOCUMENTS},
        api.readiness,
        api.public,
        api.callers.operator,
        tools=managed,
        feed=api.feed,
        is_signed_in=is_signed_in,
        missing_workers=missing_workers,
        look=_look(settings) if brand is not None else lambda _: None,
    )


def _look(settings: Settings) -> Callable[[Mapping[str, str]], str | None]:
    from web.cookies import look_cookie, look_of  # without a site, a start does not import them

    return partial(look_of, look_cookie(are_secure=not settings.web.insecure_cookies))


def _description(settings: Settings) -> Reply:
    from openapi.document import openapi_reply  # the import and the document take a third of a start

    return openapi_reply(deployment(settings))


def _document_variants(
    settings: Settings, brand: "Brand | None", row: DocumentPage
) -> Mapping[AnswerVariant, Late[Reply]]:
    """Return the answers with a page of the documentation. Each is made when it is first asked for."""
    looks = (None, "light", "dark") if brand is not None else (None,)
    return {
        AnswerVariant(is_packed, look): Late(
            partial(_document, settings, brand, row, look, is_packed=is_packed)
        )
        for look in looks
        for is_packed in (True, False)
    }


def _document(
    settings: Settings, brand: "Brand | None", row: DocumentPage, look: str | None, *, is_packed: bool
) -> Reply:
    """Return the answer with a page of the documentation."""
    from openapi.page import PAGES, page_reply, text_page

    frame = replace(_frame(settings, brand), look=look)
    if row.text:
        from openapi.guide import guide_of
        from web.markdown import html_of

        html = html_of((ROOT / "docs" / row.text).read_text("utf-8"))
        content = text_page(row.path, guide_of(html, frame.name), frame)
        return page_reply(frame, content, is_packed=is_packed)
    from openapi.document import openapi_document

    content = PAGES[row.path](openapi_document(deployment(settings)), frame)
    return page_reply(frame, content, is_packed=is_packed)


def _frame(settings: Settings, brand: "Brand | None") -> "PageFrame":
    """Return the frame of the pages of the documentation."""
    from openapi.page import PageFrame
    from web.brand_files import accent_style
    from web.other_sites import PAGE_HEADERS

    files, url = read_static_files(), settings.web.public_url or ""
    frame = PageFrame(settings.site.name, "/" if url else "", url)
    if brand is None:
        return replace(frame, style=files.text("site.css") + accent_style(settings.site.accent))
    return replace(
        frame,
        headers=PAGE_HEADERS,
        styles=(files.address("site.css"), *filter(None, [brand.style])),
        script=files.address("docs.js"),
        icons=files.address("icons.svg"),
        icon=brand.icon or files.address("icon.svg"),
        logo=brand.logo,
    )


def deployment(settings: Settings) -> Deployment:
    """Return the numbers of a deployment that its API's description says."""
    limits, webhooks = settings.limits, settings.webhooks
    return Deployment(
        name=settings.site.name,
        contact=settings.site.contact,
        stats=_window(limits.stats),
        voters=_window(limits.voters),
        failures=_window(limits.failures),
        max_difference=settings.stats.max_difference,
        vote_window_seconds=settings.votes.window_seconds,
        vote_cooldown_seconds=settings.votes.cooldown_seconds,
        kinds=settings.kinds.offered,
        without=settings.without,
        keys_per_listing=settings.keys.per_listing,
        max_body_bytes=settings.server.max_body_bytes,
        upload_bytes=settings.files.upload_bytes,
        max_header_bytes=settings.server.max_header_bytes,
        webhook_timeout_seconds=webhooks.timeout_seconds,
        webhook_retries=webhooks.retries,
        webhook_retry_seconds=webhooks.retry_delay_seconds,
        webhook_suspend_after=webhooks.suspend_after,
        webhook_kept_seconds=webhooks.kept_seconds,
    )


def _window(limit: StatsLimitSettings | VotersLimitSettings | FailuresLimitSettings) -> Window:
    return Window(limit.requests, limit.window_seconds)
