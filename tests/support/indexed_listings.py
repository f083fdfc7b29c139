"""Listings of an index, changes of them, and what a search finds."""

from hypothesis import strategies as st
from msgspec.structs import replace

from core.clock import month_of
from core.events import Event, ListingRemoved, ListingReviewed, ListingSaved
from kinds.bots import BotProfile
from kinds.servers import ServerProfile
from search.catalogue import IndexKey
from search.index import SearchIndex
from tests.support.coroutines import until
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_REF, OWNER, SERVER_REF

ASKER = "127.0.0.1"
MONTH = month_of(NOW_MS)
BOTS, SERVERS = IndexKey("bots/"), IndexKey("servers/")
SERVER = ServerProfile("A quiet place", "For readers", ("books",), "Education")


async def refs(index: SearchIndex, text: str) -> list[str]:
    """Return the bots that are found, and the servers behind them."""
    await until(lambda: index.is_complete and not index.queued)
    bots = await index.find(text, BOTS, 100, MONTH, ASKER)
    servers = await index.find(text, SERVERS, 100, MONTH, ASKER)
    return [*bots.refs, *servers.refs]


def profile_named(ref: str, name: str) -> BotProfile | ServerProfile:
    return replace(SERVER if ref == SERVER_REF else BOT_PROFILE, name=name)


def named(name: str, ref: str = BOT_REF) -> list[Event]:
    return [
        ListingSaved(ref, OWNER, profile_named(ref, name), "in_review", NOW_MS),
        ListingReviewed(ref, "approved", None, NOW_MS),
    ]


refs_used = st.sampled_from([BOT_REF, OTHER_REF, SERVER_REF])
changes = st.one_of(
    st.builds(
        lambda ref, name, review: ListingSaved(ref, OWNER, profile_named(ref, name), review, NOW_MS),
        refs_used,
        st.sampled_from(["Music", "Quiz", "音楽"]),
        st.sampled_from(["in_review", "approved"]),
    ),
    st.builds(
        ListingReviewed, refs_used, st.sampled_from(["approved", "denied"]), st.none(), st.just(NOW_MS)
    ),
    st.builds(ListingRemoved, refs_used),
)
