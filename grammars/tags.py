"""Tags: free words by which listings are found, in one spelling.

Invariant: the spelling of a tag is its own spelling, so equal tags are equal strings.
"""

import unicodedata

MOST_CHARACTERS = 32


def tag_of(text: str) -> str:
    """Return a text as a tag: in lower case, without width and composition, with hyphens for white space.

    A character may become several, such as a ligature: a tag that is too long is cut.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    return "-".join(folded.split())[:MOST_CHARACTERS]
