"""Names that people choose for their pages, and the names that look like them.

    handle    3 to 32 of a-z, 0-9, "_" and ".", with a letter or a digit. Kept in lower case
    skeleton  a handle as a quick reader sees it. Two handles with one skeleton look alike

Invariants: a handle that is not reserved is no id of the chat platform, does not end like the JSON of a page,
and looks like no word of an address of ours and no title of our staff.
"""

import re
from itertools import groupby

SHORTEST, LONGEST = 3, 32
HANDLE = r"^(?=.*[A-Za-z0-9])[A-Za-z0-9_.]{3,32}$"
ADDRESS_WORDS = (
    *("users", "files"),
    *("add", "new", "random", "ranking", "suggestions", "colours", "likes", "votes", "search", "index"),
    *(
        "me",
        "signin",
        "signout",
        "unsubscribe",
        "preferences",
        "review",
        "manage",
        "debug",
        "docs",
        "openapi",
    ),
    *(
        "terms",
        "privacy",
        "static",
        "sitemap",
        "robots",
        "manifest",
        "favicon",
        "healthz",
        "readyz",
        "metrics",
    ),
)
STAFF_WORDS = (
    *(
        "admin",
        "admins",
        "administrator",
        "moderator",
        "moderators",
        "mod",
        "mods",
        "staff",
        "team",
        "support",
    ),
    *("help", "contact", "official", "owner", "operator", "system", "security", "root", "everyone", "here"),
    *("votegate", "webmaster", "postmaster", "abuse", "null", "undefined"),
)
_SEEN_AS = str.maketrans({"0": "o", "1": "l", "i": "l", ".": "_", "-": "_"})


def skeleton(text: str) -> str:
    """Return a text as a quick reader sees it.

    0 is o, 1 and i are l, and a dot is an underscore. Repeated characters are one, and marks at the ends are
    not seen.
    """
    seen = text.lower().translate(_SEEN_AS)
    return "".join(character for character, _ in groupby(seen)).strip("_")


RESERVED_WORDS = (*ADDRESS_WORDS, *STAFF_WORDS)
_RESERVED = frozenset(map(skeleton, RESERVED_WORDS))
NOT_A_HANDLE = r"^[0-9]{17,20}$|\.[Jj][Ss][Oo][Nn]$"
"""An id of the chat platform, or the end of the JSON of a page."""


def is_reserved(handle: str) -> bool:
    """Return true for a handle that would stand for something else in an address, or for our staff."""
    return skeleton(handle) in _RESERVED or re.search(NOT_A_HANDLE, handle) is not None
