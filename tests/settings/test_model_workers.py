"""settings/model.py: the number of workers, and what they need."""

import os

import pytest

from settings.model import SettingsError, load_settings

FLEET: dict[str, object] = {"redis.url": "redis://127.0.0.1:6379", "redis.node": "paris"}


def mistakes(**settings: object) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(None, {}, settings)
    return str(caught.value)


def test_without_a_word_there_is_one_worker() -> None:
    assert load_settings(None, {}, {}).server.workers == 1


def test_auto_is_the_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    assert load_settings(None, {}, {**FLEET, "server.workers": "auto"}).server.workers == 3
    assert load_settings(None, {"VOTEGATE_SERVER__WORKERS": "2"}, FLEET).server.workers == 2


@pytest.mark.parametrize("wrong", [0, -1, 65, "many", True, 1.5])
def test_any_other_number_is_refused(wrong: object) -> None:
    assert mistakes(**FLEET, **{"server.workers": wrong}).startswith("server.workers: ")


def test_several_workers_need_redis() -> None:
    assert mistakes(**{"server.workers": 4}) == (
        "server.workers: is 4, and workers tell each other of votes through Redis; "
        "set redis.url and redis.node, or use one worker"
    )


def test_the_name_of_a_node_has_room_for_the_number_of_its_workers() -> None:
    settings = {**FLEET, "redis.node": "n" * 30}
    assert load_settings(None, {}, {**settings, "server.workers": 9}).server.workers == 9
    assert mistakes(**settings, **{"server.workers": 10}).startswith("redis.node: is too long for 10 workers")
