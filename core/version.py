"""The versions of the program and of the API.

A build adds the module `core/built.py`, which is never in a source tree: it holds the commit and the time.
"""

from importlib import import_module
from typing import NamedTuple

VERSION = "0.1.0"
"""The program's. `pyproject.toml` reads it from here."""
API_VERSION = "1.1.0"
"""The API's version, from the contract."""
VERSIONS = (
    "The API's version changes only when the API changes. The program's version changes with every release."
)


class Build(NamedTuple):
    """The build that a program comes from."""

    commit: str
    date: str
    """In UTC, as in RFC 3339."""


def build() -> Build | None:
    """Return the build of this program; None if it runs from a source tree."""
    try:
        built = import_module("core.built")
    except ModuleNotFoundError:
        return None
    return Build(built.COMMIT, built.DATE)
