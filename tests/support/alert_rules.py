"""The alert rules that operators load into Prometheus."""

from typing import Any

import yaml

from tests.support.gateways import ROOT

ALERTS = ROOT / "deploy/prometheus/alerts.yml"
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]
]
