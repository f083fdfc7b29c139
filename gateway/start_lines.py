"""The lines with which a start says what it is. Invariant: they name secrets and never show one.

With the head of a line of text they fit 80 columns, unless a path or a name is long.
"""

import logging
from collections.abc import Sequence

from pydantic import SecretStr

from core.version import VERSION
from settings.model import RedisSettings, Settings
from storage.folder import DIGEST_SECRET, KEYS, OPERATOR_TOKEN

PAGES = ("/", "/docs", "/debug")
"""The pages for people, of which the log names those that there are."""
log = logging.getLogger("votegate")


def start_lines(
    settings: Settings,
    position: int,
    urls: Sequence[str],
    paths: Sequence[str],
    metrics_urls: Sequence[str] = (),
) -> list[str]:
    """Return the lines of a gateway that serves `paths` on `urls`, and the metrics alone on others."""
    pages = ", ".join(path for path in PAGES if path in paths)
    redirect_uri = settings.web.redirect_uri
    return [
        f"Votegate {VERSION} at position {position}",
        f"data folder: {settings.data_dir.absolute()}",
        f"operator token: {_place(settings.operator.token, OPERATOR_TOKEN)}",
        f"sealing keys: {_place(settings.sealing.keys, KEYS)}",
        f"digest secret: {_place(settings.keys.digest_secret, DIGEST_SECRET)}",
        "keep copies of both apart from the data",
        f"fleet: {_fleet(settings.redis)}",
        f"pages: {pages}",
        *([f"redirect URI at the chat platform: {redirect_uri}"] if redirect_uri is not None else []),
        *(f"metrics on {url}/metrics" for url in metrics_urls),
        *(f"serving on {url}" for url in urls),
    ]


def warn_of_insecurity(settings: Settings) -> None:
    """Log a warning for what keeps the pages for people from being secure."""
    if settings.web.public_url is not None and settings.web.insecure_cookies:
        log.warning("web.insecure_cookies is on: whoever is on the way can take over the sign-ins of people")


def _place(given: SecretStr | None, file: str) -> str:
    return "in the settings" if given is not None else f"file {file}"


def _fleet(redis: RedisSettings) -> str:
    return "none" if redis.url is None else f"{redis.prefix}, as node {redis.node}"
