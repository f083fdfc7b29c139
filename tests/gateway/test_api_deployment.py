"""gateway/api.py: the API's description shows the limits of the settings."""

from pathlib import Path

import pytest

from tests.support.gateways import running
from tests.support.openapi_lookup import DOCUMENT

CHANGED: dict[str, object] = {
    "limits.stats.requests": 7,
    "limits.stats.window_seconds": 3_600,
    "limits.voters.requests": 1_234,
    "limits.voters.window_seconds": 5,
    "limits.failures.requests": 77,
    "limits.failures.window_seconds": 700,
    "stats.max_difference": 4_321,
    "votes.window_seconds": 43_200,
    "votes.cooldown_seconds": 259_200,
    "keys.per_listing": 3,
    "server.max_body_bytes": 2_048,
    "server.max_header_bytes": 8_192,
    "webhooks.timeout_seconds": 2.5,
    "webhooks.retries": 6,
    "webhooks.retry_delay_seconds": 11,
    "webhooks.suspend_after": 13,
    "webhooks.kept_seconds": 604_800,
}
PUBLIC = "/bots/{id}"


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The document and the pages of a gateway with changed settings, on one line each."""
    folder: Path = tmp_path_factory.mktemp("described")
    with running(folder / "data", **CHANGED) as gateway:
        document, *pages = (
            gateway.request("GET", path).text for path in ("/openapi.json", "/docs", "/docs/management")
        )
    return document.replace("\\n", " "), " ".join(" ".join(pages).split())


@pytest.mark.parametrize(
    "said",
    [
        "The limit is 7 requests per 60 minutes,",
        "The limit is 1,234 requests per 5 seconds,",
        "keep failing (77 requests within 700 seconds)",
        "larger than 4,321 or 10%, whichever is more.",
        "more than the larger of 4,321 and 10% of the actual count.",
        "voted for your bot in the last 12 hours,",
        "True if the user voted in the last 12 hours.",
        "vote for it again after 3 days.",
        "It can have 3 keys at most.",
        "A listing has 3 keys at most; delete one first.",
        "This user can vote again in 259200 seconds.",
        "up to 2,048 bytes.",
        "The body must not be larger than 2048 bytes.",
        "headers over 8,192 bytes with 431.",
        "must end within 2.5 seconds.",
        "tried again up to 6 times, each time 11 seconds after",
        "Tried again up to 6 times, 11 seconds apart.",
        "When the last 13 events have failed,",
        "events are kept, for 7 days at most,",
    ],
)
def test_the_document_and_its_page_say_the_limits_in_force(said: str, described: tuple[str, str]) -> None:
    document, page = described
    assert said in document
    assert said in page
    assert said not in str(DOCUMENT).replace("\\n", " "), "the default"
