"""Profiles of every kind, which hypothesis generates from the declarations. They may break rules."""

from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from hypothesis import strategies as st

from forms.fields import unwrapped
from forms.file_fields import FileRef
from kinds.kind import Kind, Profile
from kinds.registry import KINDS
from tests.support.sample_rows import BOT_REF, SERVER_REF

REFS = {"bots": BOT_REF, "servers": SERVER_REF}
REF_OF = {kind: REFS.get(kind.plural, kind.ref(kind.id.sample)) for kind in KINDS}
"""A ref of each kind."""
SMALL = st.integers(0, 3)
FILES = st.builds(
    FileRef,
    st.integers(0, (1 << 256) - 1).map("{:064x}".format),
    st.sampled_from(["image/png", "audio/ogg", "application/msgpack"]),
    *[SMALL] * 5,
    look=st.sampled_from(["", "0f1e" * 4]),
    peaks=st.sampled_from(["", "08f"]),
)


def profiles_of(kind: Kind, texts: st.SearchStrategy[str]) -> st.SearchStrategy[Profile]:
    """Return profiles of a kind, with some of the texts in their fields."""
    return st.builds(
        kind.profile, **{name: _values(field.annotation, texts) for name, field in kind.fields.items()}
    )


def _values(annotation: Any, texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Return values of the type of a field."""
    inner, _ = unwrapped(annotation)
    if get_origin(inner) is tuple:
        return st.lists(_values(get_args(inner)[0], texts), max_size=2).map(tuple)
    if get_origin(inner) in {Union, UnionType}:
        return st.one_of([_values(each, texts) for each in get_args(inner)])
    return {str: texts, bool: st.booleans(), FileRef: FILES, NoneType: st.none()}[inner]
