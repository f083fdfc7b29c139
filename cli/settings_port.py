"""The port to the settings: commands know a deployment by these values, and no setting by its name.

`server.py` hands a `SettingsPort` to every command.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from cli.local_folder import DataFolder


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

    data_folder: "Callable[[Path | None, Path | None], DataFolder]"
    whereabouts: Callable[[Path | None, Path | None], Whereabouts]


def on_data_folder(command: Callable[..., None]) -> Callable[..., None]:
    """Hand a command its data folder, and report its problems."""

    def with_folder(
        deployment: SettingsPort, /, config: Path | None, data_dir: Path | None, **arguments: Any
    ) -> None:
        from cli.local_folder import told_problems

        data_folder = deployment.data_folder(config, data_dir)
        with told_problems(data_folder.path):
            command(data_folder, **arguments)

    functools.update_wrapper(with_folder, command)
    return config_option(data_dir_option(click.pass_obj(with_folder)))


config_option = click.option("--config", type=click.Path(path_type=Path), help="Settings file in YAML.")
data_dir_option = click.option("--data-dir", type=click.Path(path_type=Path), help="Data folder (data_dir).")
