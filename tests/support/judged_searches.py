"""Judged searches: what people type, and the invented listings that a person calls an answer."""

import asyncio
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml

from core.clock import month_of
from core.events import ListingSaved, VoteCast
from core.state import State
from kinds.kind import Profile
from kinds.registry import BY_PLURAL
from search.catalogue import IndexKey
from search.index import SearchIndex
from tests.support.coroutines import until
from tests.support.memory_ledger import empty_state
from web.localization import in_every_language

ROOT = Path(__file__).parents[2]
LISTINGS = ROOT / "examples/demo_listings.yaml"
QUERIES = ROOT / "tests/search/judged_queries.yaml"
NOW_MS = 1_790_000_000_000
MONTH = month_of(NOW_MS)
OWNER = "222222222222222222"
MOST_VOTES = 120
CUT = 5
"""The results that are judged: those that a visitor sees without scrolling."""


class Judged(NamedTuple):
    """A search, and the names of the listings that answer it."""

    kind: str
    q: str
    right: frozenset[str]

    def precision(self, names: Sequence[str]) -> float:
        """Return the share of right ones among the first five, or among as many as there are."""
        return len(self.right & {*names[:CUT]}) / min(CUT, len(self.right))


@cache
def invented() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return the listings of the file by kind, as it has them."""
    with LISTINGS.open(encoding="utf-8") as file:
        found: Mapping[str, Sequence[Mapping[str, Any]]] = yaml.safe_load(file)
    return found


def profile_of(kind: str, fields: Mapping[str, Any]) -> Profile:
    """Return the profile of a listing of the file, of the fields that its kind has."""
    profile = BY_PLURAL[kind].profile
    own = {name: fields[name] for name in profile.__struct_fields__ if name in fields}
    return msgspec.convert({**own, "kind": BY_PLURAL[kind].singular}, profile)


def invented_state() -> State:
    """Return a state with all listings of the file, and votes that have nothing to do with searches."""
    state = empty_state()
    for ref, kind, fields in _numbered():
        state.apply(ListingSaved(ref, OWNER, profile_of(kind, fields), "approved", NOW_MS))
        for voter in range(zlib.crc32(fields["name"].encode()) % MOST_VOTES):
            state.apply(VoteCast(ref, str(10**17 + voter), 1, NOW_MS, "", voter + 1, voter + 1))
    return state


def _numbered() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for kind, listings in invented().items():
        for number, fields in enumerate(listings):
            yield f"{kind}/{5 * 10**17 + number}", kind, fields


def judged() -> Sequence[Judged]:
    """Return the judged searches."""
    with QUERIES.open(encoding="utf-8") as file:
        queries = yaml.safe_load(file)
    return [
        Judged(kind, each["q"], frozenset(each.get("right") or _of_category(kind, each["category"])))
        for kind, some in queries.items()
        for each in some
    ]


def _of_category(kind: str, category: str) -> list[str]:
    return [
        each["name"]
        for each in invented()[kind]
        if category in each.get("categories", ()) or category == each.get("category")
    ]


async def answers(queries: Sequence[Judged]) -> list[list[str]]:
    """Return the names that the index finds for each search, the best first."""
    state = invented_state()
    index = SearchIndex(state, in_every_language)
    running = asyncio.create_task(index.run())
    try:
        await until(lambda: index.is_complete)
        found = [
            await index.find(each.q, IndexKey(f"{each.kind}/"), 48, MONTH, "127.0.0.1") for each in queries
        ]
        return [[state.listings.peek(ref).profile.name for ref in refs] for refs, *_ in found]
    finally:
        running.cancel()
        await asyncio.wait([running])
