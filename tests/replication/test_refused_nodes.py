"""replication/members.py: a refusal is told once when it begins, and once when it ends."""

import logging

import pytest

from replication.members import RefusedNodes


def test_a_refusal_is_told_once_for_each_reason_and_its_end_once(caplog: pytest.LogCaptureFixture) -> None:
    refused = RefusedNodes("bern")
    for reason in ("another key", "another key", "another version", "another version"):
        refused.refuse("rome", reason)
    assert refused.reasons == {"rome": "another version"}
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2
    assert [record.getMessage() for record in caplog.records] == [
        "nothing is taken from node rome at this one (bern): another key",
        "nothing is taken from node rome at this one (bern): another version",
    ]
    caplog.clear()

    refused.understood("rome")
    refused.understood("rome")

    assert refused.reasons == {}
    assert [record.getMessage() for record in caplog.records] == ["node rome is understood again"]


def test_a_node_that_was_never_refused_is_understood_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    refused = RefusedNodes("bern")
    refused.refuse("rome", "another key")
    caplog.clear()
    refused.understood("oslo")
    assert refused.reasons == {"rome": "another key"}
    assert not caplog.records


def test_nodes_that_are_not_there_any_more_are_forgotten_and_refused_anew_when_they_are_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused = RefusedNodes("bern")
    for name in ("rome", "oslo"):
        refused.refuse(name, "another key")
    caplog.clear()
    refused.forget_all_but({"oslo", "lima"})
    assert refused.reasons == {"oslo": "another key"}
    assert not caplog.records
    refused.refuse("rome", "another key")
    assert len(caplog.records) == 1
