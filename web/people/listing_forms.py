"""Profiles as forms of pages. What was typed goes to the API as it is, and comes back when it is refused.

The kind declares the fields with their rules. The browser checks none: it counts other characters than we
do.
"""

from collections.abc import Mapping

from kinds.registry import KINDS
from languages.texts import Text, Words

CATEGORIES: Mapping[str, Text] = {name: text for kind in KINDS for name, text in kind.categories.items()}
"""The categories of all kinds, by their names in the API."""
LABELS: Mapping[str, Text] = {
    "id": Text("Application ID"),
    **{name: shown.label for kind in KINDS for name, shown in kind.shown.items()},
    "extra_owners": Text("Co-owners"),
}
"""The fields of profiles by their names in the API, which are their names in the forms, too."""


def by_field(fields: Mapping[str, Words]) -> dict[str, Words]:
    """Return what is wrong by the fields of a form: an entry of a list is named in the reason."""
    found: dict[str, Words] = {}
    for name, reason in fields.items():
        outer, _, entry = name.partition(".")
        at_entry = Text("entry {number} {reason}", number=int(entry) + 1, reason=reason) if entry else reason
        found.setdefault(outer, at_entry)
    return found
