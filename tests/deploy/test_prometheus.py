"""The alerts and the dashboard: Prometheus reads each expression, and a gateway serves its names."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.alert_rules import ALERTS, RULES
from tests.support.gateways import ROOT, WAIT_SECONDS
from tests.support.programs import installed
from tests.support.redis_server import RedisServer
from tests.support.scraped import Scraped, scraped
from tests.support.worker_processes import workers_of

DASHBOARD = ROOT / "deploy/grafana/votegate.json"
SUFFIXES = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"], "info": ["_info"]}
OF_GRAFANA = {"$__rate_interval": "5m", "$instance": ".*"}
NAME = re.compile(r"\b(votegate_\w+)(?:\{([^}]*)\})?")
LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")


def panels() -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [panel for panel in shown if panel["type"] != "row"]


def expressions() -> Iterator[tuple[str, str]]:
    """Yield (place, PromQL) of every expression of both files."""
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    dashboard = json.loads(DASHBOARD.read_text())
    for panel in [
        *panels(),
        *({**each, "targets": [each], "title": each["name"]} for each in dashboard["annotations"]["list"]),
    ]:
        for target in panel["targets"]:
            text = target["expr"]
            for name, value in OF_GRAFANA.items():
                text = text.replace(name, value)
            assert "$" not in text, panel["title"]
            yield panel["title"], text


@pytest.fixture(scope="module")
def of_node(redis_of_module: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Scraped:
    """The metrics of two workers, which have every family."""
    with workers_of(tmp_path_factory.mktemp("node"), redis_of_module) as gateway:
        gateway.voters(gateway.list_bot())
        return scraped(gateway)


def served(of_node: Scraped) -> Mapping[str, set[str]]:
    """Return the labels of every sample that a gateway serves, with those that Prometheus adds, by name."""
    labels = {"replication_behind_positions": {"node"}, "replication_silent_seconds": {"node"}}
    return {
        name + suffix: {"instance", "job", *labels.get(name.removeprefix("votegate_"), set())}.union(
            *(sample.labels for sample in family.samples)
        )
        for name, family in of_node.families.items()
        for suffix in SUFFIXES.get(family.type, [""])
    }


def test_every_name_in_an_expression_is_served_with_its_labels(of_node: Scraped) -> None:
    known, named = served(of_node), set[str]()
    for place, expression in expressions():
        for name, matchers in NAME.findall(expression):
            assert name in known, place
            assert set(LABEL.findall(matchers)) <= known[name], (place, name)
            named.add(name)
    assert len(named) > 30


def test_the_dashboard_shows_every_family(of_node: Scraped) -> None:
    shown = " ".join(expression for _, expression in expressions())
    unseen = {"votegate_api_keys", "votegate_limiter_keys", "votegate_snapshot_size_bytes"}
    unseen |= {"votegate_process_virtual_memory_bytes", "votegate_replication_holds_name"}
    unseen |= {"votegate_snapshot_failures", "votegate_worker_failures"}
    assert {name for name in of_node.families if not re.search(rf"\b{name}(_\w+)?\b", shown)} <= unseen


def test_prometheus_reads_every_expression(tmp_path: Path) -> None:
    rules = [
        {"record": f"votegate:expression_{number}", "expr": expression}
        for number, (_, expression) in enumerate(expressions())
    ]
    of_dashboard = tmp_path / "expressions.yml"
    of_dashboard.write_text(json.dumps({"groups": [{"name": "all", "rules": rules}]}))
    checked = subprocess.run(
        [installed("promtool"), "check", "rules", ALERTS, of_dashboard],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert re.findall(r"(\d+) rules found", checked.stdout) == [str(len(RULES)), str(len(rules))]


def test_every_alert_says_what_to_do() -> None:
    path, page = "docs/operations.md", (ROOT / "docs/operations.md").read_text()
    headings = re.findall(r"^### (.+)$", page.partition("\n## Alerts\n")[2], re.MULTILINE)
    assert headings == [rule["alert"] for rule in RULES]
    for rule in RULES:
        assert rule["annotations"]["runbook_url"] == f"{path}#{rule['alert'].lower()}"
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in {"page", "ticket"}
        text = page.partition(f"\n### {rule['alert']}\n")[2].partition("\n#")[0].strip()
        assert len(text) > 100, "one short paragraph"
        assert "\n\n" not in text


def test_the_documented_command_turns_runbook_paths_into_links(tmp_path: Path) -> None:
    (command,) = re.findall(r"^sed .*runbook_url.*$", (ROOT / "deploy/README.md").read_text(), re.MULTILINE)
    shutil.copy(ALERTS, tmp_path / "alerts.yml")
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True, timeout=WAIT_SECONDS)
    linked = re.findall(r"runbook_url: (.+)", (tmp_path / "alerts.yml").read_text())
    assert linked == [
        f"https://git.example.com/votegate/{rule['annotations']['runbook_url']}" for rule in RULES
    ]


def test_no_panel_overlaps_another_and_each_has_a_description() -> None:
    taken = set[tuple[int, int]]()
    for panel in panels():
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
        assert panel["description"], panel["title"]
        assert panel["datasource"]["uid"] == "${source}"
    assert {x for x, _ in taken} == set(range(24))
