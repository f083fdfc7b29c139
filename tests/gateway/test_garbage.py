"""gateway/garbage.py: no full collection while something large grows, and none that visits it later."""

import gc
from collections.abc import Iterator

import pytest

from gateway import garbage
from gateway.garbage import freeze_grown, freeze_loaded, growing, in_growing_slices
from tests.support.coroutines import run


@pytest.fixture
def full() -> Iterator[list[int]]:
    """The full collections that begin. The thresholds make them frequent."""
    begun, usual = list[int](), gc.get_threshold()

    def note(phase: str, facts: dict[str, int]) -> None:
        if phase == "start" and facts["generation"] == 2:
            begun.append(1)

    gc.collect()
    gc.set_threshold(700, 10, 10)
    gc.callbacks.append(note)
    yield begun
    gc.callbacks.remove(note)
    gc.set_threshold(*usual)


@pytest.fixture
def _freezing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that began with `freeze_program`."""
    monkeypatch.setattr(garbage, "_is_freezing", True)


def grow() -> list[list[int]]:
    return [[number] for number in range(1_000_000)]


@pytest.mark.usefixtures("_freezing")
def test_no_full_collection_begins_while_something_grows(full: list[int]) -> None:
    with growing():
        with growing():
            pass
        grow()
        assert not full
    assert gc.get_threshold() == (700, 10, 10)
    grow()
    assert full  # or the test would show nothing


@pytest.mark.usefixtures("_freezing")
def test_work_in_slices_may_grow(full: list[int]) -> None:
    kept = list[list[list[int]]]()

    def work() -> Iterator[None]:
        kept.append(grow())
        yield
        assert not full

    run(in_growing_slices(work()))
    assert kept


@pytest.mark.usefixtures("_freezing")
def test_nothing_walks_through_what_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    def walk() -> int:
        raise AssertionError("this takes 0.1 s for ten million objects")

    monkeypatch.setattr(gc, "get_freeze_count", walk)
    freeze_loaded()
    freeze_grown()


def test_a_process_that_did_not_begin_so_freezes_nothing(full: list[int]) -> None:
    before = gc.get_freeze_count()
    with growing():
        kept = grow()
    assert full
    freeze_loaded()
    freeze_grown()
    assert gc.get_freeze_count() <= before
    assert kept
