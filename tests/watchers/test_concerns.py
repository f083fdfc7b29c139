"""watchers/concerns.py: one list of what is wrong now, each with what it means and what to do next."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from watchers.concerns import TOPICS, Concern, ConcernSources, all_concerns

WELL = ConcernSources(
    not_ready=lambda: None,
    journal_refuses=lambda: None,
    disk_is_behind=lambda: False,
    disk_is_slow=lambda: False,
    free_bytes=lambda: 50_000_000_000,
    needed_bytes=lambda: 300_000_000,
    snapshot_failure=lambda: None,
    fleet=lambda: {"failing": {}, "holds_name": True, "refused": {}},
    fleet_warnings=list,
    proxy_down=lambda: False,
    endpoints_suspended=lambda: 0,
    addresses_refused=lambda: 0,
    some_refused=lambda most: ["192.0.2.7", "192.0.2.8", "192.0.2.9", "192.0.2.10"][:most],
    failing_observers=dict,
)


def concerns(**wrong: Any) -> tuple[Concern, ...]:
    """Return the concerns when these sources say this."""
    return all_concerns(replace(WELL, **{name: partial(_told, answer) for name, answer in wrong.items()}))


def _told(answer: Any) -> Any:
    return answer


def fleet(**wrong: Any) -> dict[str, Any]:
    return {"failing": {}, "holds_name": True, "refused": {}, **wrong}


def test_if_all_is_well_nothing_is_said() -> None:
    assert concerns() == concerns(fleet=None) == concerns(free_bytes=None) == ()


CAUSES: list[tuple[str, dict[str, Any], str]] = [
    ("ready", {"not_ready": "this node has no copy yet"}, "takes no requests: this node has no copy yet."),
    ("workers", {"missing_workers": ["worker 2 is starting"]}, "Worker 2 is starting. The other workers"),
    ("journal", {"journal_refuses": "no space left on the disk"}, "no writes: no space left on the disk."),
    ("disk", {"free_bytes": 0}, "is full"),
    (
        "disk",
        {"free_bytes": 200_000_000},
        "200 MB are free, and the next snapshot and the journal need about 300",
    ),
    ("disk", {"disk_is_slow": True}, "nothing is refused yet"),
    ("disk", {"disk_is_behind": True}, "so many wait that some are refused"),
    ("snapshots", {"snapshot_failure": "File too large"}, "No snapshot could be taken: File too large."),
    ("redis", {"fleet": fleet(failing={"publishing": "it is away"})}, "(publishing): it is away."),
    ("fleet", {"fleet": fleet(holds_name=False)}, "does not hold its name"),
    ("fleet", {"fleet": fleet(refused={"rome": "its key differs"})}, "from node rome: its key differs."),
    (
        "fleet",
        {"fleet_warnings": ["node oslo has said nothing for 30 s"]},
        "node oslo has said nothing for 30 s",
    ),
    ("proxy", {"proxy_down": True}, "no webhook leaves"),
    ("endpoints", {"endpoints_suspended": 1}, "1 endpoint is suspended"),
    ("endpoints", {"endpoints_suspended": 1_200}, "1,200 endpoints are suspended"),
    ("addresses", {"addresses_refused": 3}, "192.0.2.7, 192.0.2.8, 192.0.2.9 have failed"),
    ("addresses", {"addresses_refused": 9}, "192.0.2.9 and 6 more have failed"),
    ("observers", {"failing_observers": {"memory": "Too many open files"}}, "memory (Too many open files)"),
]


@pytest.mark.parametrize(("topic", "wrong", "text"), CAUSES)
def test_each_says_what_is_wrong_and_what_to_do(topic: str, wrong: dict[str, Any], text: str) -> None:
    (concern,) = concerns(**wrong)
    assert concern.topic == topic
    assert text in concern.text
    assert concern.action.endswith(".")


def test_every_topic_has_a_cause() -> None:
    assert {topic for topic, _, _ in CAUSES} == {*TOPICS}


def test_while_redis_is_away_nobody_is_told_that_another_process_has_the_name() -> None:
    away = fleet(failing={"registry": "it is away", "following": "it is away"}, holds_name=False)
    assert [concern.topic for concern in concerns(fleet=away)] == ["redis"]


def test_the_most_urgent_comes_first() -> None:
    found = concerns(endpoints_suspended=2, journal_refuses="no space left on the disk", free_bytes=0)
    assert [concern.topic for concern in found] == ["journal", "disk", "endpoints"]
