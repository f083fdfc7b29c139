"""A scrape of a gateway, read by the library's own parsers."""

from collections.abc import Mapping

from prometheus_client import Metric
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from requests import Response

from metrics.collectors import PLAIN
from tests.support.gateways import Client

METRICS = "/metrics"


OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Scraped:
    """The samples of one scrape."""

    def __init__(self, text: str, *, is_openmetrics: bool = False) -> None:
        read = (
            openmetrics.text_string_to_metric_families if is_openmetrics else text_string_to_metric_families
        )
        self.families: Mapping[str, Metric] = {family.name: family for family in read(text)}

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
    """Return a scrape of the main address as OpenMetrics, which names families without suffixes."""
    headers = {"Authorization": f"Bearer {gateway.operator_token}", "Accept": "application/openmetrics-text"}
    return read(gateway.request("GET", METRICS, headers=headers))


def read(response: Response) -> Scraped:
    content_type = response.headers["content-type"]
    assert response.status_code == 200
    assert content_type in {PLAIN, OPENMETRICS}
    return Scraped(response.text, is_openmetrics=content_type == OPENMETRICS)
