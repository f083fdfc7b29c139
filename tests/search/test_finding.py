"""search/finding.py: the search of the operator through all listings."""

from collections.abc import Iterator

from msgspec.structs import replace

from core.events import Event, ListingRemoved, ListingSaved
from core.packing import pack
from core.state import State
from kinds.bots import BOTS
from kinds.registry import KINDS
from search.finding import SLICE, ListingSearch
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_PROFILE, NOW_MS, OWNER, SERVER_PROFILE

FIRST = 10**17


def saved(ref: str, name: str, owner: str = OWNER) -> ListingSaved:
    if ref.startswith(BOTS.prefix):
        return ListingSaved(ref, owner, replace(BOT_PROFILE, name=name), "approved", 1)
    return ListingSaved(ref, owner, replace(SERVER_PROFILE, name=name), "denied", NOW_MS)


def holding(*events: Event) -> State:
    state = empty_state()
    for event in events:
        state.apply(event)
    return state


def packed(state: State) -> State:
    """The same state as after a start."""
    loaded, refs = empty_state(), list(state.listings.refs)
    loaded.load_packed(refs, [pack(state.listings[ref]) for ref in refs], 0, ())
    loaded.loaded()
    return loaded


def done(work: Iterator[None]) -> int:
    return sum(1 for _ in work)


def found(state: State, text: str, most: int = 50) -> list[str]:
    search = ListingSearch(state, KINDS, text, most)
    done(search.slices())
    return [hit.ref for hit in search.found]


def test_a_name_is_found_by_any_part_in_any_case_the_best_first() -> None:
    state = holding(
        saved("bots/1", "My Straße bot"),
        saved("bots/2", "STRASSE"),
        saved("servers/3", "strasse 7"),
        saved("servers/4", "Avenue"),
    )

    assert found(state, "Strasse") == ["bots/2", "servers/3", "bots/1"]
    assert found(packed(state), "STRASSE") == ["bots/2", "servers/3", "bots/1"]
    assert found(state, "nothing") == []


def test_an_id_is_found_whole_and_before_names_that_hold_it() -> None:
    state = holding(saved("bots/17", "bot"), saved("servers/17", "server"), saved("bots/2", "bot 17"))

    assert found(state, "17") == ["bots/17", "servers/17", "bots/2"]
    assert found(state, "1") == ["bots/2"], "a part of an id is no id"


def test_a_search_leaves_packed_rows_packed_and_tells_their_state() -> None:
    state = packed(holding(saved("servers/1", "One")))
    search = ListingSearch(state, KINDS, "one", 50)
    done(search.slices())

    assert (search.found[0].brief.name, search.found[0].brief.state) == ("One", "denied")
    assert list(state.listings.unpacked()) == []


def test_no_more_are_found_than_asked_for() -> None:
    state = holding(*(saved(f"bots/{FIRST + number}", f"bot {number}") for number in range(9)))
    for most, more in ((8, True), (9, False)):
        search = ListingSearch(state, KINDS, "bot", most)
        done(search.slices())
        assert (len(search.found), search.more) == (most, more)


def test_listings_may_come_and_go_while_a_search_runs() -> None:
    state = holding(*(saved(f"bots/{FIRST + number}", "bot") for number in range(3 * SLICE)))
    search = ListingSearch(state, KINDS, "bot", 1_000)
    slices = search.slices()
    next(slices)
    state.apply(ListingRemoved(f"bots/{FIRST + 2 * SLICE}"))
    state.apply(saved(f"bots/{FIRST + 9 * SLICE}", "bot"))
    done(slices)

    assert len(search.found) == 3 * SLICE
