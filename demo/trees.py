"""The templates of the demo: what the chat platform says of each, and the files with their trees."""

from collections.abc import Mapping, Sequence
from typing import Any

from chatplatform.answers import VIEW_CHANNEL
from chatplatform.template_answers import TemplateTree, read_template
from core.rows import TemplateCheck
from demo.plan import Planned
from forms.file_fields import Decoded

CHANNEL_TYPES = {"voice": 2, "news": 5, "stage": 13, "forum": 15}
CATEGORY = 4
HIDDEN = [{"id": 0, "type": 0, "allow": "0", "deny": str(VIEW_CHANNEL)}]
"""It hides a channel from everyone."""


def template_answer(listing: Planned) -> Mapping[str, Any]:
    """Return what the platform answers about a template."""
    works = listing.works
    return {
        "code": listing.id,
        "usage_count": works["uses"],
        "creator_id": listing.owner.id,
        "serialized_source_guild": {"channels": _channels(works["tree"]), "roles": _roles(works["roles"])},
    }


def template_check(listing: Planned, at_ms: int) -> TemplateCheck:
    """Return the answer as it is kept."""
    tree, uses = _tree(listing), listing.works["uses"]
    file = tree_file(listing).file
    return TemplateCheck(at_ms, uses=uses, channels=tree.channels, roles=tree.role_count, tree=file)


def tree_file(listing: Planned) -> Decoded:
    """Return the file with the tree."""
    return _tree(listing).file


def _tree(listing: Planned) -> TemplateTree:
    found = read_template(template_answer(listing), listing.id)
    if found is None or found.tree is None:
        raise ValueError(f"{listing.name} has no tree")
    return found.tree


def _channels(tree: Mapping[str, Sequence[str]]) -> Sequence[Mapping[str, Any]]:
    made: list[Mapping[str, Any]] = []
    for category, names in tree.items():
        overwrites = HIDDEN if category.endswith("*") else []
        parent = len(made) + 1 if category else None
        named: list[tuple[int, str, int | None]] = []
        if category:
            named.append((CATEGORY, category.rstrip("*"), None))
        for sort, _, name in (each.rpartition("/") for each in names):
            named.append((CHANNEL_TYPES.get(sort, 0), name, parent))
        for number, name, inside in named:
            place = {"id": len(made) + 1, "position": len(made), "parent_id": inside}
            made.append({**place, "type": number, "name": name, "permission_overwrites": overwrites})
    return made


def _roles(colours: Mapping[str, int]) -> Sequence[Mapping[str, Any]]:
    named = [("@everyone", 0), *colours.items()]
    return [{"id": number, "name": name, "color": colour} for number, (name, colour) in enumerate(named)]
