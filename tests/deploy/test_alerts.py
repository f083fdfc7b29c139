"""Each alert fires for its condition, in Prometheus' own evaluation of the rules."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.alert_rules import ALERTS, RULES
from tests.support.gateways import WAIT_SECONDS
from tests.support.programs import installed

MINUTES = 120
"""Prometheus asks once a minute."""

Series = Mapping[str, str | None]
"""The values of series, `first+step` from minute to minute; None for a series that is not there."""

HEALTHY: Series = {
    "up": "1",
    "votegate_ready": "1",
    'votegate_worker_ready{worker="2"}': "1",
    "votegate_journal_writable": "1",
    'votegate_journal_fsync_seconds_bucket{le="0.001"}': "0+50",
    'votegate_journal_fsync_seconds_bucket{le="0.5"}': "0+50",
    'votegate_journal_fsync_seconds_bucket{le="+Inf"}': "0+50",
    "votegate_journal_pending_bytes": "1000",
    "votegate_journal_pending_limit_bytes": "64000000",
    "votegate_journal_head_position": "5000+50",
    "votegate_snapshot_position": "4900+50",
    "votegate_disk_free_bytes": "50000000000-1000000",
    "votegate_disk_needed_bytes": "300000000",
    'votegate_observer_failures_total{observer="memory"}': "3",
    "votegate_snapshot_age_seconds": "200",
    "votegate_snapshot_interval_seconds": "300",
    "votegate_webhooks_pending": "2000",
    "votegate_webhooks_pending_limit": "100000",
    "votegate_webhooks_dropped_total": "0",
    "votegate_webhook_endpoints_suspended": "3",
    "votegate_webhook_proxy_down": "0",
    "votegate_replication_concerns": "0",
    'votegate_replication_failing{loop="following"}': "0",
    "votegate_replication_holds_name": "1",
    "votegate_replication_unsent_positions": "10",
    'votegate_replication_behind_positions{node="oslo"}': "10",
    "votegate_event_loop_delay_max_seconds": "0.02",
    'votegate_requests_total{endpoint="checkVote",status="2xx"}': "0+60000",
    'votegate_requests_total{endpoint="checkVote",status="5xx"}': "0+6",
    "votegate_process_resident_memory_bytes": "100000000+1000",
    "votegate_process_open_fds": "50",
    "votegate_process_max_fds": "1000",
    'votegate_connections_ended_total{reason="refused"}': "0",
}
NOTHING_NEW = {"votegate_journal_head_position": "5000", "votegate_snapshot_position": "5000"}
CAUSES: list[tuple[str | None, Series]] = [
    (None, {}),
    (None, {**NOTHING_NEW, "votegate_snapshot_age_seconds": "9000"}),
    ("VotegateAbsent", {"up": "0"}),
    ("VotegateAbsent", {"up": None}),
    ("VotegateNotReady", {"votegate_ready": "0"}),
    ("VotegateWorkerMissing", {'votegate_worker_ready{worker="2"}': "0"}),
    ("VotegateJournalNotWritable", {"votegate_journal_writable": "0"}),
    ("VotegateDiskSlow", {'votegate_journal_fsync_seconds_bucket{le="0.001"}': "0"}),
    ("VotegateDiskSlow", {"votegate_journal_pending_bytes": "40000000"}),
    ("VotegateDiskFull", {"votegate_disk_free_bytes": "200000000"}),
    ("VotegateDiskFills", {"votegate_disk_free_bytes": "50000000000-100000000"}),
    ("VotegateObserverFails", {'votegate_observer_failures_total{observer="memory"}': "0+1"}),
    ("VotegateSnapshotOld", {"votegate_snapshot_age_seconds": "9000"}),
    ("VotegateWebhooksBehind", {"votegate_webhooks_pending": "2000+10"}),
    ("VotegateWebhooksBehind", {"votegate_webhooks_pending": "90000"}),
    ("VotegateWebhooksBehind", {"votegate_webhooks_dropped_total": "0+1"}),
    ("VotegateEndpointsSuspended", {"votegate_webhook_endpoints_suspended": "21"}),
    ("VotegateEndpointsSuspended", {"votegate_webhook_proxy_down": "1"}),
    ("VotegateFleetBehind", {"votegate_replication_concerns": "1"}),
    ("VotegateFleetBehind", {'votegate_replication_failing{loop="following"}': "1"}),
    ("VotegateFleetBehind", {"votegate_replication_holds_name": "0"}),
    ("VotegateFleetBehind", {"votegate_replication_unsent_positions": "20000"}),
    ("VotegateFleetBehind", {'votegate_replication_behind_positions{node="oslo"}': "20000"}),
    ("VotegateLoopStalls", {"votegate_event_loop_delay_max_seconds": "0.3"}),
    ("VotegateErrors", {'votegate_requests_total{endpoint="checkVote",status="5xx"}': "0+700"}),
    ("VotegateMemoryGrows", {"votegate_process_resident_memory_bytes": "100000000+1000000"}),
    ("VotegateDescriptorsScarce", {"votegate_process_open_fds": "900"}),
    ("VotegateDescriptorsScarce", {'votegate_connections_ended_total{reason="refused"}': "0+1"}),
]


def test_every_alert_has_a_cause_here() -> None:
    assert {alert for alert, _ in CAUSES} == {None, *(rule["alert"] for rule in RULES)}


def test_a_cause_fires_its_alert_and_no_other(tmp_path: Path) -> None:
    def scene(alert: str | None, changed: Series) -> dict[str, object]:
        series = {**HEALTHY, **changed}
        return {
            "name": f"{alert}: {dict(changed)}",
            "interval": "1m",
            "input_series": [
                {
                    "series": of_job(name),
                    "values": f"{values if set(values) & {*'+-'} else values + '+0'}x{MINUTES}",
                }
                for name, values in series.items()
                if values is not None
            ],
            "promql_expr_test": [
                {
                    "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                    "eval_time": f"{MINUTES}m",
                    "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1}] if alert else [],
                }
            ],
        }

    scenes = tmp_path / "scenes.yml"
    scenes.write_text(
        json.dumps(
            {
                "rule_files": [str(ALERTS)],
                "evaluation_interval": "5m",
                "tests": [scene(alert, changed) for alert, changed in CAUSES],
            }
        )
    )
    tested = subprocess.run(
        [installed("promtool"), "test", "rules", scenes], capture_output=True, text=True, timeout=WAIT_SECONDS
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr


def of_job(series: str) -> str:
    """The series, as Prometheus keeps it after it has scraped the job `votegate`."""
    name, _, labels = series.removesuffix("}").partition("{")
    labels = ",".join(filter(None, [labels, 'job="votegate"', 'instance="one"']))
    return f"{name}{{{labels}}}"
