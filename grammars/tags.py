"""Tags: words that owners choose, and that searches and lists find, in one spelling.

Invariant: `tag_of` leaves a tag as it is, so equal tags are equal strings.
"""

import unicodedata
from functools import lru_cache

MOST_CHARACTERS = 32


@lru_cache(10_000)
def tag_of(text: str) -> str:
    """Return a text as a tag: in lower case, in the Unicode form NFKC, with hyphens for white space.

    A character such as a ligature may become several. A tag that is too long is cut.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    return "-".join(folded.split())[:MOST_CHARACTERS]
