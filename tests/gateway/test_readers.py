"""gateway/readers.py: a gateway has the readers of the log that it needs, and no others."""

from functools import partial
from inspect import ismethod
from pathlib import Path

from tests.support.gateways import ThreadGateway, running
from tests.support.given_settings import CLIENT_SECRET, SITE

OF_PEOPLE = {"VotedListings", "Catalogue", "SearchIndex"}


def readers(gateway: ThreadGateway) -> set[str]:
    found = [each.args[1] if isinstance(each, partial) else each for each in gateway.gateway.ledger._readers]
    return {type(each.__self__).__name__ for each in found if ismethod(each)}


def test_a_gateway_without_pages_for_people_has_no_readers_for_them(tmp_path: Path) -> None:
    with running(tmp_path / "without") as gateway:
        assert not readers(gateway) & OF_PEOPLE
        assert "WebhookNotifier" in readers(gateway)
    with running(tmp_path / "with", **SITE, **{"chat_platform.client_secret": CLIENT_SECRET}) as gateway:
        assert readers(gateway) >= OF_PEOPLE
