"""The two ways to targets that strangers choose: webhooks of owners, and images in descriptions.

One guard decides about both, so the tests of targets run for each of them.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from tests.support.contract import attempted, set_webhook
from tests.support.described_images import describe, shown_images
from tests.support.gateways import ThreadGateway, running
from tests.support.media_files import picture
from tests.support.page_visitor import PageVisitor
from tests.support.people_gateway import serving
from tests.support.webhook_receiver import Answer, status


class WayOut(Protocol):
    """A way to a target."""

    @property
    def arrival(self) -> Answer:
        """The answer of a target that is reached."""
        ...

    def opened(self, folder: Path, **settings: object) -> AbstractContextManager[ThreadGateway]:
        """Run a gateway."""
        ...

    def go(self, gateway: ThreadGateway, url: str) -> str:
        """Lead to a URL. Return "arrived" or the failure."""
        ...

    def go_again(self, gateway: ThreadGateway) -> str:
        """Lead to the URL from before a restart."""
        ...


class WebhookWay:
    arrival = staticmethod(status(204))

    @contextmanager
    def opened(self, folder: Path, **settings: object) -> Iterator[ThreadGateway]:
        with running(folder, **settings) as gateway:
            yield gateway

    def go(self, gateway: ThreadGateway, url: str) -> str:
        set_webhook(gateway, url)
        return self.go_again(gateway)

    def go_again(self, gateway: ThreadGateway) -> str:
        gateway.cast()
        tried = attempted(gateway, 1)
        return "arrived" if tried["state"] == "delivered" else str(tried["error"])


class ImageWay:
    arrival = staticmethod(status(200, picture()))

    @contextmanager
    def opened(self, folder: Path, **settings: object) -> Iterator[ThreadGateway]:
        with serving(folder, **settings) as gateway:
            yield gateway

    def go(self, gateway: ThreadGateway, url: str) -> str:
        describe(gateway, url)
        return self.go_again(gateway)

    def go_again(self, gateway: ThreadGateway) -> str:
        (path,) = shown_images(gateway)
        answer = PageVisitor(gateway).get(path)
        return {200: "arrived", 404: "blocked"}[answer.status_code]  # visitors are not told why


WAYS_OUT: Mapping[str, WayOut] = {"a webhook": WebhookWay(), "an image": ImageWay()}
