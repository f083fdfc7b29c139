"""chatplatform/answers.py: what an id says by itself."""

from chatplatform.answers import created_ms


def test_an_id_holds_the_time_at_which_it_was_made() -> None:
    assert created_ms("175928847299117063") == 1_462_015_105_796  # the example of the platform's reference
