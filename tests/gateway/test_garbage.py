"""gateway/garbage.py: no full collection while something large grows, and none that visits it later."""

import gc
from collections.abc import Iterator

import pytest

from gateway.garbage import LARGE_SLICES, growing, in_growing_slices
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


def grow() -> list[list[int]]:
    return [[number] for number in range(1_000_000)]


def test_no_full_collection_begins_while_something_grows(full: list[int]) -> None:
    with growing():
        with growing():
            pass
        grow()
        assert not full
    assert gc.get_threshold() == (700, 10, 10)
    grow()
    assert full  # or the test would show nothing


def test_large_work_is_frozen_and_small_work_is_not(full: list[int]) -> None:
    made = list[list[int]]()

    def work(slices: int) -> Iterator[None]:
        for number in range(slices):
            made.append([number])
            yield

    before = gc.get_freeze_count()
    run(in_growing_slices(work(LARGE_SLICES - 1)))
    assert gc.get_freeze_count() <= before
    run(in_growing_slices(work(LARGE_SLICES)))
    assert gc.get_freeze_count() >= before + LARGE_SLICES
    assert not full
