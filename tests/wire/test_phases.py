"""wire/phases.py: every step in every phase, allowed or refused."""

import itertools

import pytest

from wire.phases import TRANSITIONS, ImpossibleStep, Phase, Step, after

TABLE = """
          OPENED DIRECT HEAD_PART TURN WHOLE     ANSWERED HOLD FREE NO_MORE LAST_WORD GONE
OPENING   FRESH  .      .         .    .         .        .    .    .       .         .
FRESH     .      IDLE   HEAD      BODY .         .        .    .    .       LINGERING CLOSED
HEAD      .      .      .         BODY .         .        HELD .    .       LINGERING CLOSED
BODY      .      .      .         .    ANSWERING .        .    .    .       LINGERING CLOSED
ANSWERING .      .      .         .    .         IDLE     .    .    LAST    LINGERING CLOSED
IDLE      .      .      HEAD      BODY .         .        HELD .    .       LINGERING CLOSED
HELD      .      .      .         BODY .         .        .    IDLE .       LINGERING CLOSED
LAST      .      .      .         LAST LAST      LAST     .    .    .       LINGERING CLOSED
LINGERING .      .      .         .    .         .        .    .    .       .         CLOSED
CLOSED    .      .      .         .    .         .        .    .    .       .         CLOSED
"""
STEPS, *ROWS = (line.split() for line in TABLE.strip().splitlines())
EXPECTED = {
    (Phase[phase], Step[step]): None if to == "." else Phase[to]
    for phase, *row in ROWS
    for step, to in zip(STEPS, row, strict=True)
}


def test_the_table_names_every_phase_and_every_step() -> None:
    assert EXPECTED.keys() == set(itertools.product(Phase, Step))


@pytest.mark.parametrize(
    ("phase", "step", "to"),
    [(phase, step, to) for (phase, step), to in EXPECTED.items()],
    ids=[f"{step.name} while {phase.name}" for phase, step in EXPECTED],
)
def test_a_step_leads_where_the_table_says_or_is_refused(phase: Phase, step: Step, to: Phase | None) -> None:
    if to is not None:
        assert after(phase, step) is to
        return
    with pytest.raises(ImpossibleStep, match=f"{step.name} while {phase.name}"):
        after(phase, step)


def reached_from(phase: Phase) -> set[Phase]:
    found, new = set[Phase](), {phase}
    while new:
        found |= new
        new = {to for each in new for to in TRANSITIONS[each].values()} - found
    return found


def test_every_phase_is_reached_and_every_connection_can_end() -> None:
    assert reached_from(Phase.OPENING) == set(Phase)
    for phase in Phase:
        assert Phase.CLOSED in reached_from(phase)


def test_nothing_is_asked_or_answered_behind_the_last_word() -> None:
    assert reached_from(Phase.LAST) == {Phase.LAST, Phase.LINGERING, Phase.CLOSED}
    assert reached_from(Phase.LINGERING) == {Phase.LINGERING, Phase.CLOSED}


def test_what_was_asked_once_is_never_fresh_again() -> None:
    assert all(Phase.FRESH not in reached_from(to) for to in TRANSITIONS[Phase.FRESH].values())
