"""Templates of servers in answers of the chat platform, and the tree of their channels and roles.

The tree is a file of the listing. Invariant: it is bounded, whatever the platform answers. Beyond the bounds
it has only the number of channels and roles.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from chatplatform.answers import VIEW_CHANNEL, bits_of, count_of, fields_of, snowflake_of, text_of
from forms.file_fields import Decoded, FileRef

MOST_CHANNELS, MOST_ROLES = 500, 250
"""The channels, categories included, and the roles of a tree. The platform allows no more."""
MOST_NAME = 100
MEDIA_TYPE = "application/msgpack"
Channel = Literal["text", "voice", "news", "stage", "forum"]
_CATEGORY = 4
_CHANNELS: Mapping[int | None, Channel] = {2: "voice", 5: "news", 13: "stage", 15: "forum", 16: "forum"}
_EVERYONE = "0"
"""The id of the role that everyone has. A template has numbers of its own in place of ids."""


class TemplateChannel(msgspec.Struct, frozen=True, gc=False):
    """A channel. `is_open`: everyone on the server sees it."""

    name: str
    kind: Channel
    is_open: bool


class TemplateCategory(msgspec.Struct, frozen=True):
    """A category with its channels. The name is empty for channels outside of categories."""

    name: str
    channels: tuple[TemplateChannel, ...]


class TemplateRole(msgspec.Struct, frozen=True, gc=False):
    """A role. `colour` is 0xRRGGBB; 0 for a role without one."""

    name: str
    colour: int


class TemplateTree(msgspec.Struct, frozen=True):
    """The channels and roles of a server that is made of a template, without the role of everyone.

    Args:
        channels, roles: their numbers, with those that are left out here.
        more_channels, more_roles: the numbers of those that are left out.
    """

    categories: tuple[TemplateCategory, ...]
    roles: tuple[TemplateRole, ...]
    channels: int
    more_channels: int = 0
    more_roles: int = 0

    @property
    def role_count(self) -> int:
        return len(self.roles) + self.more_roles

    @property
    def file(self) -> Decoded:
        """The file of a listing that has the tree. `unpacked` reads it."""
        content = msgspec.msgpack.encode(self)
        return Decoded(content, FileRef(hashlib.sha256(content).hexdigest(), MEDIA_TYPE, len(content)))


class PlatformTemplate(msgspec.Struct, frozen=True):
    """A template. A fact that the platform does not state is None."""

    code: str
    uses: int | None = None
    creator_id: str | None = None
    tree: TemplateTree | None = None


def read_template(answer: object, asked: str) -> PlatformTemplate | None:
    """Read `GET /guilds/templates/{code}`. None if it is not about the code that was asked for."""
    fields = fields_of(answer)
    if fields.get("code") != asked:
        return None
    return PlatformTemplate(
        asked,
        count_of(fields, "usage_count"),
        snowflake_of(fields, "creator_id"),
        _tree(fields_of(fields.get("serialized_source_guild"))),
    )


unpacked = msgspec.msgpack.Decoder(TemplateTree).decode
"""Return the tree in the content of its file. Raises MsgspecError."""


def _tree(server: Mapping[str, Any]) -> TemplateTree | None:
    """Return the tree of a server; None if the answer has no lists of channels and roles."""
    channels, roles = server.get("channels"), server.get("roles")
    if not isinstance(channels, list) or not isinstance(roles, list):
        return None
    own = [each for each in map(fields_of, roles) if _id(each, "id") != _EVERYONE]
    shown = [fields_of(each) for each in channels[:MOST_CHANNELS]]
    categories = sum(count_of(each, "type") == _CATEGORY for each in shown)
    return TemplateTree(
        _categories(shown),
        tuple(TemplateRole(_name(each), _colour(each)) for each in own[:MOST_ROLES]),
        len(channels) - categories,
        more_channels=len(channels) - len(shown),
        more_roles=max(len(own) - MOST_ROLES, 0),
    )


def _categories(shown: Sequence[Mapping[str, Any]]) -> tuple[TemplateCategory, ...]:
    """Return channels by their categories. Those whose category is not known come first, without one."""
    ordered = sorted(shown, key=lambda each: count_of(each, "position") or 0)
    names = {_id(each, "id"): _name(each) for each in ordered if count_of(each, "type") == _CATEGORY}
    inside: dict[str | None, list[TemplateChannel]] = {None: [], **{each: [] for each in names}}
    for each in ordered:
        number = count_of(each, "type")
        if number != _CATEGORY:
            channel = TemplateChannel(_name(each), _CHANNELS.get(number, "text"), _is_open(each))
            parent = _id(each, "parent_id")
            inside[parent if parent in names else None].append(channel)
    named = {None: "", **names}
    return tuple(
        TemplateCategory(named[key], tuple(channels))
        for key, channels in inside.items()
        if channels or named[key]
    )


def _id(fields: Mapping[str, Any], name: str) -> str | None:
    """Return a number of the template, which the platform's description has as a number or as a text."""
    value = fields.get(name)
    return str(value) if isinstance(value, int | str) and len(str(value)) <= 20 else None


def _is_open(fields: Mapping[str, Any]) -> bool:
    """Return False for a channel that the role of everyone may not see."""
    overwrites = fields.get("permission_overwrites")
    for each in map(fields_of, overwrites if isinstance(overwrites, list) else ()):
        if _id(each, "id") == _EVERYONE and (bits_of(each, "deny") or 0) & VIEW_CHANNEL:
            return False
    return True


def _colour(fields: Mapping[str, Any]) -> int:
    colour = count_of(fields, "color") or 0
    return colour if colour <= 0xFFFFFF else 0


def _name(fields: Mapping[str, Any]) -> str:
    return (text_of(fields, "name") or "?")[:MOST_NAME]
