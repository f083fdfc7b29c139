"""Names of settings as people write them.

Invariant: a wrong name is reported as written, with the nearest one.

A setting is named like "server.port" here and in files, and like VOTEGATE_SERVER__PORT in the environment.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

from pydantic import BaseModel

from settings.sources import FILE_SUFFIX, variable_of

ALIKE_IN_A_SECTION = 0.7  # of 1; a name in the right section is likely the one that was meant
ALIKE_ANYWHERE = 0.85


def unknown(
    name: str, settings: type[BaseModel], variables: Mapping[str, str], secrets: Collection[str]
) -> list[str]:
    """Return the mistakes for a name that no setting has: one, or one for each variable that it comes from.

    Args:
        name: the setting or section, as validation calls it.
        variables: all variables as they were written, by the names of their settings.
        secrets: settings that a variable may also give by a file.
    """
    names = [*_names(settings)]
    written = {given: variable for given, variable in variables.items() if f"{given}.".startswith(f"{name}.")}
    if not written:
        return [_told(name, _nearest(name, names))]
    given_names = [each for each in names if not any(other.startswith(f"{each}.") for other in names)]
    given_names += [f"{secret}{FILE_SUFFIX.lower()}" for secret in secrets]
    nearest = {variable: _nearest(given, given_names) for given, variable in written.items()}
    return [_told(variable, right and variable_of(right)) for variable, right in nearest.items()]


_LEFT_OUT = {"server.address", "server.port"}
"""Settings that people mean when they leave the section out, though other sections have such a name too."""


def _told(written: str, right: str | None) -> str:
    return f"{written}: there is no such setting{f'; did you mean {right}?' if right else ''}"


def _names(section: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the names of all settings and sections."""
    for name, field in section.model_fields.items():
        yield prefix + name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _names(field.annotation, f"{prefix}{name}.")


def _nearest(name: str, names: Collection[str]) -> str | None:
    """Find the name in the same section, with other separators, or in a section that was left out."""
    section, _, last = name.rpartition(".")
    beside = {_last(each): each for each in names if each.rpartition(".")[0] == section}
    times = Counter(map(_last, names))
    anywhere = {_last(each): each for each in names if times[_last(each)] == 1 or each in _LEFT_OUT}
    anywhere |= {_flat(each): each for each in names}
    return _match(last, beside, ALIKE_IN_A_SECTION) or _match(_flat(name), anywhere, ALIKE_ANYWHERE)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _flat(name: str) -> str:
    return name.replace(".", "_")


def _match(word: str, meant: Mapping[str, str], alike: float) -> str | None:
    return next((meant[found] for found in get_close_matches(word, meant, 1, alike)), None)
