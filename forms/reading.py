"""Forms read off their declarations. Invariant: a form that is returned breaks no rule.

A reader takes a value at a path, such as `categories.0`. It adds the faults that it finds, and returns the
value as the declaration has it. It converts no value from another type, but a text may get the spelling in
which it is kept. It reports at most one fault of each field, and every field that has one.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args, get_origin

from msgspec import Struct

from forms.fields import Declared, declared_fields, unwrapped
from forms.rules import Beside, Between, Display, OneOf, Rule, Says, Size, Spelled, Widget
from languages.refusals import Invalid
from languages.said import Fault

S = TypeVar("S", bound=Struct)
Faults = dict[str, Fault]
Reader = Callable[[Any, str, Faults], Any]


def read(form: type[S], body: Mapping[str, Any]) -> S:
    """Return the form, filled in from a JSON object. Raises Invalid with a fault for every wrong field."""
    faults: Faults = {}
    read_form = _read(form, body, "", faults)
    if read_form is None:
        raise Invalid(faults)
    return read_form


def read_query(form: type[S], query: Mapping[str, str]) -> S:
    """Return the form, filled in from the parameters of a query that it declares. Others are ignored.

    A parameter is a text. One that is declared as a number is read as its digits. Raises Invalid.
    """
    body: dict[str, Any] = {}
    for each in declared_fields(form):
        if each.name in query:
            text = query[each.name]
            body[each.name] = _number(text) if _is_number(each.annotation) else text
    return read(form, body)


def _is_number(declared: Any) -> bool:
    inner, _ = unwrapped(declared)
    return inner is int or any(map(_is_number, get_args(inner)))


def _number(text: str) -> int | str:
    """Return the number that the digits of a text are, or the text, which is no valid number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 19 else text


def _read(form: type[S], body: Mapping[str, Any], at: str, faults: Faults) -> S | None:
    values: dict[str, Any] = {}
    known = len(faults)
    fields = _fields(form)
    for name, declared, reader, beside in fields:
        before = len(faults)
        if name in body:
            value = reader(body[name], at + name, faults)
        elif declared.is_required:
            faults[at + name] = Fault("missing")
            continue
        else:
            value = declared.default
        fault = beside.check(value, values) if beside is not None and len(faults) == before else None
        if fault is not None:
            faults[at + name] = fault
        if len(faults) == before:
            values[name] = value
    names = {each.name for each in fields}
    for name in body:
        if name not in names:
            faults[at + name] = Fault("unknown_field")
    return form(**values) if len(faults) == known else None


class _Field(NamedTuple):
    name: str
    declared: Declared
    read: Reader
    beside: Beside | None


@functools.cache
def _fields(form: type[Struct]) -> tuple[_Field, ...]:
    return tuple(
        _Field(each.name, each, _reader(each.annotation), each.note(Beside)) for each in declared_fields(form)
    )


def _reader(declared: Any) -> Reader:
    """Return the reader of a type with its notes."""
    inner, notes = unwrapped(declared)
    size = next((note for note in notes if isinstance(note, Size)), None)
    steps = [step for note in notes if (step := _step(note)) is not None]
    choices = next((note.choices for note in notes if isinstance(note, OneOf)), None)
    bare = _bare(inner, size) if choices is None else functools.partial(_choice, tuple(choices))

    def checked(value: Any, at: str, faults: Faults) -> Any:
        known = len(faults)
        value = bare(value, at, faults)
        if len(faults) == known and value is not None:
            for step in steps:
                value = step(value)
                if isinstance(value, Fault):
                    faults[at] = value
                    break
        return value

    says = next((note.fault for note in notes if isinstance(note, Says)), None)
    return checked if says is None else functools.partial(_saying, says, checked)


def _saying(fault: Fault, read_value: Reader, value: Any, at: str, faults: Faults) -> Any:
    """Read a value, and report one fault for all that it may break."""
    found: Faults = {}
    value = read_value(value, at, found)
    if found:
        faults[at] = fault
    return value


def _step(note: Any) -> Callable[[Any], Any] | None:
    """Return the function that checks a value by a note, for notes that look at this value alone. It returns
    the value or its fault."""
    match note:
        case Rule(check=check):
            return lambda value: check(value) or value
        case Between():
            return lambda value: _check_between(note, value) or value
        case Spelled(spelling=spelling):
            return spelling
    return None


def _check_between(bounds: Between, value: int) -> Fault | None:
    if value < bounds.least:
        return Fault("too_low", {"least": bounds.least})
    most = bounds.most
    return Fault("too_high", {"most": most}) if most is not None and value > most else None


def _bare(declared: Any, size: Size | None) -> Reader:
    """Return the reader of a type without the notes around it. Of these, lists and texts need their size."""
    args = get_args(declared)
    if NoneType in args:
        (some,) = (each for each in args if each is not NoneType)
        read_some = _reader(some)
        return lambda value, at, faults: None if value is None else read_some(value, at, faults)
    if get_origin(declared) is Literal:
        return functools.partial(_choice, args)
    if get_origin(declared) is tuple:
        return functools.partial(_items, _reader(args[0]), size)
    if declared is int:
        return _whole
    if declared is bool:
        return _truth
    return functools.partial(_text, size) if declared is str else functools.partial(_nested, declared)


def _text(size: Size | None, value: Any, at: str, faults: Faults) -> Any:
    if not isinstance(value, str) or not _is_unicode(value):
        faults[at] = Fault("not_text")
    elif size is not None and len(value) < size.least:
        faults[at] = (
            Fault("text_empty") if size.least == 1 else Fault("text_too_short", {"least": size.least})
        )
    elif size is not None and len(value) > size.most:
        faults[at] = Fault("text_too_long", {"most": size.most})
    return value


def _is_unicode(text: str) -> bool:
    """Return False for a text with half of a surrogate pair, which nothing can encode."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _truth(value: Any, at: str, faults: Faults) -> Any:
    if not isinstance(value, bool):
        faults[at] = Fault("not_boolean")
    return value


def _whole(value: Any, at: str, faults: Faults) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        faults[at] = Fault("not_whole")
    return value


def not_a_choice(choices: Sequence[str]) -> Fault:
    """Return the fault of a text that is none of the choices."""
    *others, last = map(repr, choices)
    return Fault("not_a_choice", {"choices": f"{', '.join(others)} or {last}"})


def _choice(choices: tuple[str, ...], value: Any, at: str, faults: Faults) -> Any:
    if not (isinstance(value, str) and value in choices):
        faults[at] = not_a_choice(choices)
    return value


def _items(read_entry: Reader, size: Size | None, value: Any, at: str, faults: Faults) -> Any:
    if not isinstance(value, list):
        faults[at] = Fault("not_a_list")
        return value
    given = len(value)
    if size is not None and given > size.most:
        faults[at] = Fault("list_too_long", {"most": size.most, "given": given})
        return value
    known = len(faults)
    entries = tuple(read_entry(each, f"{at}.{number}", faults) for number, each in enumerate(value))
    if len(faults) == known and size is not None and given < size.least:
        faults[at] = Fault("list_empty")
    return entries


def _nested(form: type[Struct], value: Any, at: str, faults: Faults) -> Any:
    if not isinstance(value, dict):
        faults[at] = Fault("not_a_form", {"form": form.__name__})
        return value
    return _read(form, value, f"{at}.", faults)


class Posted(Protocol):
    """The fields of a posted form."""

    def get(self, name: str, default: str, /) -> str: ...
    def text(self, name: str) -> str: ...
    def texts(self, name: str) -> list[str]: ...
    def lines(self, name: str) -> list[str]: ...


def _file(post: Posted, name: str) -> str | None:
    """Return the digest of the one file of a field: a new one comes last, and an input without a file is an
    empty text behind that of the file that stays."""
    return next(reversed(post.texts(name)), None)


_READ: Mapping[Widget, Callable[[Posted, str], Any]] = {
    "line": lambda post, name: post.text(name),
    "text": lambda post, name: post.get(name, ""),
    "choice": lambda post, name: post.text(name),
    "choices": lambda post, name: post.texts(name),
    "lines": lambda post, name: post.lines(name),
    "pairs": lambda post, name: post.lines(name),
    "links": lambda post, name: post.lines(name),
    "tick": lambda post, name: bool(post.text(name)),
    "invite": lambda post, name: post.text(name) or None,
    "url": lambda post, name: post.text(name) or None,
    "colour": lambda post, name: post.text(name) or None,
    "picture": _file,
    "pictures": lambda post, name: post.texts(name),
    "sound": _file,
}


def posted(shown: Mapping[str, Display], post: Posted) -> dict[str, Any]:
    """Return the fields of a posted form as the body of a call has them."""
    return {name: _READ[field.widget](post, name) for name, field in shown.items()}
