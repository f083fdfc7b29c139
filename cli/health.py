"""`votegate health` asks whether the gateway is well. Invariant: one line and status 0 or 1, in bounded time.

It is for monitors that have no shell and no `curl`, such as that of a container.
"""

from pathlib import Path

import click

from cli.remote import Remote, address_of, printable
from cli.settings_port import SettingsPort

NO_TOKEN = "none"  # noqa: S105 (both paths are open to everybody)


@click.command()
@click.option("--ready", is_flag=True, help="Check that it takes requests. A gateway that stops takes none.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, 60, min_open=True),
    default=5,
    show_default=True,
    help="Time to wait.",
)
@click.option("--url", help="Address: http://..., https://..., or unix:PATH. By default: from the settings.")
@click.option("--socket", "unix_socket", metavar="PATH", help="Unix socket of the gateway.")
@click.option("--ca", type=click.Path(path_type=Path), help="File with the certificates to trust (PEM).")
@click.option("--config", type=click.Path(path_type=Path), help="Settings file of the gateway.")
@click.pass_obj
def health(
    settings: SettingsPort,
    *,
    ready: bool,
    seconds: float,
    url: str | None,
    unix_socket: str | None,
    ca: Path | None,
    config: Path | None,
) -> None:
    """Check the health of a gateway: status 0 if it is well, else 1."""
    address = address_of(url, unix_socket, ca, lambda: settings.whereabouts(config, None))
    Remote(address, NO_TOKEN).call("GET", "/readyz" if ready else "/healthz", seconds=seconds)
    click.echo(f"{printable(address.url)} is {'ready' if ready else 'well'}")
