"""JSON Schemas of forms, read off their declarations.

Keywords are in the order of the alphabet, and properties in that of the fields.
"""

from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from msgspec import Struct

from forms.fields import Form, declared_fields, unwrapped
from forms.rules import About, Between, Component, OneOf, Rule, Size

Node = dict[str, Any]
COMPONENTS = "#/components/schemas/"
_TYPES: Mapping[Any, str] = {str: "string", int: "integer", bool: "boolean", NoneType: "null"}


def form_components(forms: Iterable[type[Struct]]) -> dict[str, Node]:
    """Return the schemas of forms, and of all types that they name, by the names of their components."""
    found: dict[str, Node] = {}
    for form in forms:
        _add(form, found)
    return dict(sorted(found.items()))


def type_schema(declared: Any) -> Node:
    """Return the schema of a type with its notes."""
    return _of(declared, {})


def _add(form: type[Struct], found: dict[str, Node]) -> None:
    if form.__name__ in found:
        return
    found[form.__name__] = schema = Node()
    fields = declared_fields(form)
    required = [each.name for each in fields if each.is_required]
    schema |= _sorted(
        {
            **_of_the_whole(form),
            "additionalProperties": False,
            "description": form.__doc__,
            "type": "object",
            **({"required": required} if required else {}),
            "properties": {
                each.name: _sorted(
                    {
                        **_of(each.annotation, found),
                        **({} if each.is_required else {"default": _json(each.default)}),
                    }
                )
                for each in fields
            },
        }
    )


def _of_the_whole(form: type[Struct]) -> Mapping[str, Any]:
    """Return the keywords about several fields of a form together."""
    return form.of_the_whole if issubclass(form, Form) else {}


def _json(value: Any) -> Any:
    return [*value] if isinstance(value, tuple) else value


def _of(declared: Any, found: dict[str, Node]) -> Node:
    inner, notes = unwrapped(declared)
    schema = _noted(_bare(inner, found), notes, "Items" if get_origin(inner) is tuple else "Length")
    component = next((note for note in notes if isinstance(note, Component)), None)
    if component is None:
        return schema
    found[component.name] = schema
    return {"$ref": COMPONENTS + component.name}


def _bare(declared: Any, found: dict[str, Node]) -> Node:
    args = get_args(declared)
    if NoneType in args:
        return {"anyOf": [_of(each, found) for each in args]}
    if get_origin(declared) is Literal:
        return {"enum": [*args], "type": "string"}
    if get_origin(declared) is tuple:
        return {"items": _of(args[0], found), "type": "array"}
    if declared in _TYPES:
        return {"type": _TYPES[declared]}
    _add(declared, found)
    return {"$ref": COMPONENTS + declared.__name__}


def _noted(schema: Node, notes: tuple[Any, ...], noun: str) -> Node:
    """Return the schema of a type with what its notes add. `noun` ends the keywords of a size."""
    for note in notes:
        match note:
            case Size(least=least, most=most):
                schema |= {**({f"min{noun}": least} if least else {}), f"max{noun}": most}
            case Between(least=least, most=most):
                schema |= {"minimum": least, **({"maximum": most} if most is not None else {})}
            case OneOf(choices=choices):
                schema["enum"] = [*choices]
            case About(text=text, example=example):
                schema |= {"description": text} if text else {}
                schema |= {"examples": [example]} if example is not None else {}
            case Rule(schema=more):
                schema |= more
    return _sorted(schema)


def _sorted(schema: Node) -> Node:
    return dict(sorted(schema.items()))
