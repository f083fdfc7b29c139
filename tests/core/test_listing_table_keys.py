"""core/listing_table.py: grants come from the rows of listings, and from nothing else."""

from msgspec.structs import replace

from core.listing_table import KeyIndex
from core.rows import Key, KeyGrant, Listing, Reviewed
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_REF, OWNER

FIRST = Key("k1", "first", "d1", "d1", NOW_MS)
ROTATED = Key("k2", "rotated", "d3", "d3", NOW_MS, NOW_MS, "d2", NOW_MS + 5)


def listing(*keys: Key, ref: str = BOT_REF) -> Listing:
    return Listing(ref, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS), keys=keys)


def test_every_value_of_every_key_opens_its_listing() -> None:
    index = KeyIndex()
    index.add(listing(FIRST, ROTATED))
    index.add(listing(replace(FIRST, digest="d9"), ref=OTHER_REF))
    assert index.grants == {
        "d1": KeyGrant(BOT_REF, "k1", None),
        "d2": KeyGrant(BOT_REF, "k2", NOW_MS + 5),
        "d3": KeyGrant(BOT_REF, "k2", None),
        "d9": KeyGrant(OTHER_REF, "k1", None),
    }
    assert index.count == 3


def test_keys_of_a_removed_listing_open_nothing_and_others_still_do() -> None:
    index = KeyIndex()
    index.add(listing(FIRST, ROTATED))
    index.add(listing(replace(FIRST, digest="d9"), ref=OTHER_REF))
    index.remove(listing(FIRST, ROTATED))
    assert (index.grants, index.count) == ({"d9": KeyGrant(OTHER_REF, "k1", None)}, 1)
