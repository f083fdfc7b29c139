"""What a scrape of a gateway says, read by the library's own parser of OpenMetrics."""

from collections.abc import Mapping

from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from requests import Response

from handlers.scrape import OPENMETRICS
from tests.support.gateways import Client

METRICS = "/metrics"


class Scraped:
    """The samples of one scrape."""

    def __init__(self, text: str) -> None:
        self.families: Mapping[str, Metric] = {
            family.name: family
            for family in text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
        }

    def value(self, sample: str, **labels: str) -> float:
        """The value of the one sample with this name and these labels."""
        (value,) = [
            each.value
            for family in self.families.values()
            for each in family.samples
            if each.name == f"votegate_{sample}" and each.labels == labels
        ]
        return float(value)

    @property
    def series(self) -> set[tuple[str, frozenset[tuple[str, str]]]]:
        """The name and the labels of each sample."""
        return {
            (each.name, frozenset(each.labels.items()))
            for family in self.families.values()
            for each in family.samples
        }


def scraped(gateway: Client) -> Scraped:
    """What the operator is told on the main address."""
    return read(gateway.operate("GET", METRICS))


def read(response: Response) -> Scraped:
    assert (response.status_code, response.headers["content-type"]) == (200, OPENMETRICS)
    return Scraped(response.text)
