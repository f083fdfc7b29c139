"""The port to the settings. Law: commands know a deployment by these values, and no setting by its name.

`server.py` hands a `SettingsPort` to every command.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cli.place import Place


class Whereabouts(NamedTuple):
    """The address and the secrets of a gateway, as its settings have them.

    `certificate` is the one that it shows, if it serves TLS. `token` is that of the settings file.
    """

    url: str
    certificate: Path | None
    data_dir: Path
    token: str | None


class SettingsPort(NamedTuple):
    """Both functions take the options --config and --data-dir. Bad settings end the command."""

    place: "Callable[[Path | None, Path | None], Place]"
    whereabouts: Callable[[Path | None, Path | None], Whereabouts]
