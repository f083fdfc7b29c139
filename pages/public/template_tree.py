"""The channels and roles of a template, from the copy that is a file of its listing."""

from typing import NamedTuple

import msgspec

from chatplatform.template_answers import TemplateCategory, TemplateTree, unpacked
from core.rows import Listing
from pages.page import PageCall
from web.tones import nearest_tone


class ShownRole(NamedTuple):
    """A role with the class of its colour; empty for a role without one."""

    name: str
    tone: str


class ShownTree(NamedTuple):
    """A copy as pages show it."""

    tree: TemplateTree
    roles: tuple[ShownRole, ...]

    @property
    def categories(self) -> tuple[TemplateCategory, ...]:
        return self.tree.categories


async def tree_of(page: PageCall, row: Listing) -> ShownTree | None:
    """Return the copy of a template; None without one, or while no node has its file."""
    file = row.template.tree if row.template is not None else None
    content = await page.call.tools.files.get(file.digest) if file is not None else None
    if content is None:
        return None
    try:
        tree = unpacked(content)
    except msgspec.MsgspecError:  # of another version
        return None
    return ShownTree(tree, tuple(ShownRole(each.name, nearest_tone(each.colour)) for each in tree.roles))
