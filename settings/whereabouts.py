"""The address and the data folder of a gateway, read without validating all settings. Invariant: it is quick.

A command that calls a running gateway needs no more, and validation takes a fifth of a second to import.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from settings.sources import SourceUnreadable, merged_sources

ADDRESS, PORT, DATA_DIR = "127.0.0.1", 8_080, "data"
"""The defaults of `settings/model.py`; a test compares them."""
_EVERY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 (it is replaced)
_TOKEN = "operator.token"  # noqa: S105 (the name of a setting)


class FoundSettings(NamedTuple):
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
