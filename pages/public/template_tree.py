"""The channels and roles of a template, from the file of its listing."""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec

from chatplatform.template_answers import TemplateTree, unpacked
from core.rows import Listing
from pages.page import PageCall
from web.tones import nearest_tone

FIRST_CHANNELS, FIRST_ROLES = 60, 40
"""The channels and roles that a page shows at once. The others are behind a press."""


class ShownTree(NamedTuple):
    """A tree as pages show it: how many categories come at once, and the roles with those that do.

    A role has its name and the class of its colour, which is empty for a role without one.
    """

    tree: TemplateTree
    first_categories: int
    roles: Sequence[tuple[str, str]]
    first_roles: int = FIRST_ROLES


async def tree_of(page: PageCall, row: Listing) -> ShownTree | None:
    """Return the tree of a template; None without one, or while no node has its file."""
    file = row.template.tree if row.template is not None else None
    content = await page.call.tools.files.get(file.digest) if file is not None else None
    if content is None:
        return None
    try:
        tree = unpacked(content)
    except msgspec.MsgspecError:  # of another version
        return None
    channels = accumulate(len(each.channels) for each in tree.categories)
    first = max(sum(count <= FIRST_CHANNELS for count in channels), 1)
    return ShownTree(tree, first, [(each.name, nearest_tone(each.colour)) for each in tree.roles])
