"""core/grants.py: grants are made of the listings' rows, and of nothing else."""

from msgspec.structs import replace

from core.grants import Grants
from core.rows import Key, KeyGrant, Listing
from tests.support.committed_rows import BOT, BOT_PROFILE, NOW_MS, OTHER_BOT, OWNER

FIRST = Key("k1", "first", "d1", "d1", NOW_MS)
ROTATED = Key("k2", "rotated", "d3", "d3", NOW_MS, NOW_MS, "d2", NOW_MS + 5)


def listing(*keys: Key, ref: str = BOT) -> Listing:
    return Listing(ref, OWNER, BOT_PROFILE, "approved", NOW_MS, NOW_MS, keys=keys)


def test_every_value_of_every_key_opens_its_listing() -> None:
    grants = Grants()
    grants.add(listing(FIRST, ROTATED))
    grants.add(listing(replace(FIRST, digest="d9"), ref=OTHER_BOT))
    assert grants.by_digest == {
        "d1": KeyGrant(BOT, "k1", None),
        "d2": KeyGrant(BOT, "k2", NOW_MS + 5),
        "d3": KeyGrant(BOT, "k2", None),
        "d9": KeyGrant(OTHER_BOT, "k1", None),
    }
    assert grants.keys == 3


def test_what_is_removed_opens_nothing_and_the_others_still_do() -> None:
    grants = Grants()
    grants.add(listing(FIRST, ROTATED))
    grants.add(listing(replace(FIRST, digest="d9"), ref=OTHER_BOT))
    grants.remove(listing(FIRST, ROTATED))
    assert (grants.by_digest, grants.keys) == ({"d9": KeyGrant(OTHER_BOT, "k1", None)}, 1)
