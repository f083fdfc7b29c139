"""The sources of settings, merged.

Invariant: nothing here knows a setting; names and values pass unchanged.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

PREFIX = "VOTEGATE_"
FILE_SUFFIX = "_FILE"


class SourceUnreadable(Exception):
    """The file is not a tree of settings. The message says where and why, and quotes nothing of the file."""


class MergedSources(NamedTuple):
    """One tree of sections, not validated yet; and each variable of the environment as it was written, by the
    name of its setting."""

    tree: dict[str, Any]
    variables: dict[str, str]


def variable_of(name: str) -> str:
    """Return the variable for a setting that is named like "server.port"."""
    return PREFIX + name.upper().replace(".", "__")


def merged_sources(
    config: Path | None,
    environment: Mapping[str, str],
    flags: Mapping[str, object | None],
    secrets: Collection[str],
    problems: list[str],
) -> MergedSources:
    """Merge the sources, and add mistakes of the environment to `problems`. Raises SourceUnreadable.

    Args:
        flags: by names like "server.port"; None is a flag that was not given.
        secrets: names of the settings that a variable may give by a file.
    """
    merged = _from_yaml(config) if config is not None else {}
    variables = {_setting_of(variable): variable for variable in environment if variable.startswith(PREFIX)}
    for name, value in _from_environment(environment, secrets, problems):
        _put(merged, name, value, problems)
    for name, flag in flags.items():
        if flag is not None:
            _put(merged, name, flag, problems)
    return MergedSources(merged, variables)


class SetTwice(NamedTuple):
    """A secret that has two sources: `used` is the one that counts."""

    name: str
    used: str
    unused: str


def set_twice(
    config: Path | None, environment: Mapping[str, str], secrets: Collection[str]
) -> Iterator[SetTwice]:
    """Yield the secrets with two sources: people may replace the unused one, and the old value still counts.
    Raises SourceUnreadable."""
    tree = _from_yaml(config) if config is not None else {}
    variables = {_setting_of(variable): variable for variable in environment if variable.startswith(PREFIX)}
    for name in sorted(secrets):
        *sections, last = name.split(".")
        section: Any = tree
        for each in sections:
            section = section.get(each) if isinstance(section, dict) else None
        named = [variables.get(name), variables.get(f"{name}{FILE_SUFFIX.lower()}")]
        if isinstance(section, dict) and last in section:
            named.append(f"{name} in {config}")
        places = [place for place in named if place is not None]
        if len(places) > 1:
            yield SetTwice(name, places[0], " and ".join(places[1:]))


class _Doubled(yaml.MarkedYAMLError):
    """A section holds a name twice."""


class _Commented(yaml.MarkedYAMLError):
    """A colour without quotes: it is a comment."""


_COLOUR = re.compile(r"\s*: *#(?:[0-9A-Fa-f]{3}){1,2}[ \t]*(?:#|\r?\n|\0|$)")
"""A name's end, and a colour without quotes."""


class _Loader(yaml.SafeLoader):
    """Refuses a name that is there twice, and a colour without quotes. YAML would quietly drop the first one
    with all below it, and the colour."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001
        names = [name for name, _ in node.value if isinstance(name, yaml.ScalarNode)]
        seen = set[str]()
        for name in names:
            if name.value in seen:
                raise _Doubled(problem_mark=name.start_mark)
            seen.add(name.value)
            if _COLOUR.match(name.end_mark.buffer or "", name.end_mark.pointer):
                raise _Commented(problem_mark=name.start_mark)
        return super().construct_mapping(node, deep)


def _from_yaml(path: Path) -> dict[str, Any]:
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        content = _Loader(text).get_single_data()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceUnreadable(f"{path}: cannot be read: {error}") from None
    except (RecursionError, ValueError):
        raise SourceUnreadable(
            f"{path}: is nested too deeply, or contains a number that is too long"
        ) from None
    except yaml.reader.ReaderError as error:
        lines = text[: error.position].split("\n")
        where = _place(len(lines) - 1, len(lines[-1]))
        raise SourceUnreadable(f"{path}: contains a character that YAML does not allow ({where})") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" ({_place(mark.line, mark.column)})" if mark is not None else ""
        if isinstance(error, _Doubled):
            raise SourceUnreadable(f"{path}: has a name twice in one section{where}") from None
        if isinstance(error, _Commented):
            raise SourceUnreadable(
                f"{path}: has a colour without quotes, which is a comment{where}"
            ) from None
        raise SourceUnreadable(f"{path}: is not valid YAML{where}: {_yaml_reason(error)}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise SourceUnreadable(f"{path}: must be a mapping of sections")
    return _without_nulls(content)


_OF_THE_PARSER = re.compile(r"""(?:[^'"]|'(?:<[a-z ]+>|\\t|[^\w\s'"])')*""")
"""The start of a parser's message that quotes only marks of YAML, such as `','` or `'<scalar>'`."""


def _yaml_reason(error: yaml.MarkedYAMLError) -> str:
    """Return the parser's message without words of the file: they may be a secret."""
    context, begins = _unquoted(error.context or ""), error.context_mark
    if begins is not None:
        context += f" that begins in line {begins.line + 1}"
    return ": ".join(part for part in (context, _unquoted(error.problem or "")) if part)


def _place(line: int, column: int) -> str:
    """Return the place in words. Line and column count from 0, as the parser's do."""
    return f"line {line + 1}, column {column + 1}"


def _unquoted(message: str) -> str:
    found = _OF_THE_PARSER.match(message)
    return (found[0] if found is not None else "").rstrip().removesuffix(", but found")


def _without_nulls(tree: dict[str, Any]) -> dict[str, Any]:
    """Remove every null: a null, or an empty section, means the default."""
    return {
        name: _without_nulls(value) if isinstance(value, dict) else value
        for name, value in tree.items()
        if value is not None
    }


def _from_environment(
    environment: Mapping[str, str], secrets: Collection[str], problems: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield (setting, value) pairs. A plain variable overrides the `_FILE` variable of the same setting."""
    plain, from_files = {}, {}
    for variable, value in environment.items():
        if not variable.startswith(PREFIX):
            continue
        name = _setting_of(variable)
        secret = name.removesuffix(FILE_SUFFIX.lower())
        if secret != name and secret in secrets:
            try:
                from_files[secret] = Path(value).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                # The message holds no path: by mistake, it may be the secret itself.
                reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
                problems.append(f"{variable}: cannot be read: {reason}")
        else:
            plain[name] = value
    yield from (from_files | plain).items()


def _setting_of(variable: str) -> str:
    return variable.removeprefix(PREFIX).lower().replace("__", ".")


def _put(tree: dict[str, Any], name: str, value: object, problems: list[str]) -> None:
    *sections, last = name.split(".")
    for section in sections:
        below = tree.setdefault(section, {})
        if not isinstance(below, dict):
            problems.append(f"{section}: must be a section")
            return
        tree = below
    tree[last] = value


ADDRESS, PORT, DATA_DIR = "127.0.0.1", 8_080, "data"
"""The defaults of `settings/model.py`; a test compares them."""
_EVERY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 (it is replaced)
_TOKEN = "operator.token"  # noqa: S105 (the name of a setting)


class FoundSettings(NamedTuple):
    """The address and the data folder of a gateway, read without validating all settings. Invariant: it is
    quick.

    A command that calls a running gateway needs no more, and validation takes a fifth of a second to import.
    """

    url: str
    certificate: Path | None
    data_dir: Path
    token: str | None


def found_settings(
    config: Path | None, environment: Mapping[str, str], data_dir: Path | None
) -> FoundSettings:
    """Read the settings file and the environment. Raises SourceUnreadable."""
    problems: list[str] = []
    merged = merged_sources(config, environment, {"data_dir": data_dir}, {_TOKEN}, problems)
    if problems:
        raise SourceUnreadable("\n".join(problems))
    tree = merged.tree
    server, operator = _section(tree, "server"), _section(tree, "operator")
    certificate = _section(server, "tls").get("certificate")
    token = operator.get("token")
    return FoundSettings(
        _url(server, is_tls=certificate is not None),
        Path(str(certificate)) if certificate is not None else None,
        Path(str(tree.get("data_dir", DATA_DIR))),
        str(token) if token is not None else None,
    )


def _section(tree: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = tree.get(name, {})
    if not isinstance(section, dict):
        raise SourceUnreadable(f"{name}: must be a section")
    return section


def _url(server: Mapping[str, Any], *, is_tls: bool) -> str:
    if server.get("unix_socket") is not None:
        return f"unix:{server['unix_socket']}"
    address = str(server.get("address", ADDRESS))
    host = _EVERY.get(address, address)
    return (
        f"{'https' if is_tls else 'http'}://{f'[{host}]' if ':' in host else host}:{server.get('port', PORT)}"
    )
