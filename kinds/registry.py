"""All kinds of listings, and the kind of a ref."""

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from kinds.bots import BOTS
from kinds.emojis import EMOJIS
from kinds.kind import Kind, Profile
from kinds.profiles import PROFILES
from kinds.server_templates import TEMPLATES
from kinds.servers import SERVERS
from kinds.sound_clips import SOUNDS
from kinds.themes import THEMES

KINDS: tuple[Kind, ...] = (BOTS, SERVERS, TEMPLATES, EMOJIS, SOUNDS, THEMES, PROFILES)
BY_PLURAL: Mapping[str, Kind] = {kind.plural: kind for kind in KINDS}
"""The kinds by their names in paths and refs."""
PUSHED: Mapping[str, int] = {
    name: most for kind in KINDS if kind.stats is not None for name, most in kind.stats.most.items()
}
"""The counts that programs of listings push, with the most that each may be."""
SAMPLE_REF = KINDS[0].ref(KINDS[0].id.sample)
"""The ref of a listing in examples of documents."""

if TYPE_CHECKING:
    AnyProfile = Profile
else:
    AnyProfile = reduce(or_, (kind.profile for kind in KINDS))


def id_pattern(snowflake: str) -> str:
    """Return the pattern of an id of any kind, for a cursor: that of a snowflake if all ids are some."""
    return snowflake if all(kind.has_snowflakes for kind in KINDS) else "[0-9A-Za-z_]{1,64}"


def kind_of(ref: str) -> Kind:
    """Return the kind of a listing. Raises KeyError for an unknown one: no code falls through to another."""
    return BY_PLURAL[ref.partition("/")[0]]
