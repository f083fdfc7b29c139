"""docs/public-pages.md names every address, every order and every field, with the numbers of the code."""

import re

import msgspec
import pytest

from actions.query_forms import MAX_PAGE
from chatplatform.listing_icons import HOLDS_MS
from kinds.registry import KINDS
from pages.page_rows import rows_of
from pages.public.home import NAMES
from pages.public.listing import OF_BADGES, PUBLIC_LISTING
from pages.public.lists import CACHED, FOUND, LISTED, PUBLIC_LISTS, PublicCard, PublicList
from pages.public.rankings import PublicRanking, RankedListing
from search.list_orders import FRESH_SECONDS, KEPT_SECONDS, SORTS
from tests.support.gateways import ROOT

TEXT = (ROOT / "docs/public-pages.md").read_text()
NAMED = {each for code in re.findall(r"`([^`\n]+)`", TEXT) for each in re.split(r",? ", code)}


@pytest.mark.parametrize("view", [PublicCard, PublicList, PublicRanking, RankedListing])
def test_every_field_is_named(view: type) -> None:
    assert {field.name for field in msgspec.structs.fields(view)} - NAMED <= {"success"}


def test_every_field_of_the_first_page_is_named() -> None:
    assert {f"{part}_{kind}" for part in NAMES.values() for kind in KINDS} - NAMED == set()


def test_every_field_of_a_profile_is_named() -> None:
    fields = {shown.public or name for kind in KINDS for name, shown in kind.shown.items()}
    assert fields - NAMED == set()


def test_every_address_and_every_order_is_named() -> None:
    assert {row.path for row in rows_of((*PUBLIC_LISTS, *PUBLIC_LISTING))} - NAMED == set()
    assert {*SORTS} - NAMED == set()


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"{FOUND} at most" in TEXT
    assert f"1 to {MAX_PAGE}, {LISTED} by default" in TEXT
    assert f"every {FRESH_SECONDS} seconds" in TEXT
    assert (KEPT_SECONDS, HOLDS_MS) == (600, 86_400_000)
    assert "max-age=10" in CACHED["cache-control"]
    assert "max-age=60" in OF_BADGES["cache-control"]
