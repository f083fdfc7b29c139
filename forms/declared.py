"""The fields of a form as it declares them: name, type, notes and default."""

import functools
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct, structs

N = TypeVar("N")


class Declared(NamedTuple):
    """A field of a form. A required one has no default (NODEFAULT). Its `annotation` includes the notes."""

    name: str
    annotation: Any
    notes: tuple[Any, ...]
    default: Any

    @property
    def is_required(self) -> bool:
        return self.default is NODEFAULT

    def note(self, kind: type[N]) -> N | None:
        """Return the field's note of this kind, if it has one."""
        return next((note for note in self.notes if isinstance(note, kind)), None)


@functools.cache
def declared_fields(form: type[Struct]) -> tuple[Declared, ...]:
    """Return the fields of a form in their order."""
    hints = get_type_hints(form, include_extras=True)
    return tuple(
        Declared(each.name, hints[each.name], unwrapped(hints[each.name])[1], each.default)
        for each in structs.fields(form)
    )


def unwrapped(declared: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without the notes around it, and these notes."""
    if get_origin(declared) is not Annotated:
        return declared, ()
    inner, *notes = get_args(declared)
    return inner, tuple(notes)
