import pytest

from tests.support.programs import installed


def test_the_path_of_a_program_that_is_there_is_returned() -> None:
    assert installed("sh").endswith("/sh")


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_a_test_without_its_program_is_skipped_and_fails_in_ci(
    ci: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="no-such-program is not installed: `make test-packages`"):
        installed("no-such-program")
