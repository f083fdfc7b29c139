"""listings/stats_problems.py: the problems that are kept are bounded in fields, characters and bots."""

from typing import Any

from listings.stats_problems import FIELDS_PER_BOT, MAX_BOTS, NAME_CHARACTERS, StatsProblems


def names(problems: StatsProblems, ref: str) -> list[str]:
    return [problem.field for problem in problems.of(ref)]


def test_the_bots_whose_pushes_were_wrong_last_are_kept() -> None:
    problems = StatsProblems(bots=2)
    for ref in ("bots/1", "bots/2", "bots/1", "bots/3"):
        problems.note(ref, {"servers": 1}, "no_count_given", 0)

    assert [names(problems, f"bots/{number}") for number in (1, 2, 3)] == [["servers"], [], ["servers"]]


def test_however_much_is_sent_so_much_is_kept() -> None:
    problems = StatsProblems()
    for number in range(MAX_BOTS + 50):
        body: dict[str, Any] = {f"{number}-{field}-".ljust(1_000, "x"): 0 for field in range(20)}
        problems.note(f"bots/{number}", {**body, "server_count": []}, "server_count_out_of_range", number)

    assert len(problems) == MAX_BOTS
    kept = problems.of(f"bots/{MAX_BOTS + 49}")
    assert len(kept) == FIELDS_PER_BOT
    assert kept[0].field == "server_count"
    assert all(len(problem.field) <= NAME_CHARACTERS for problem in kept)


def test_a_name_that_is_spelt_out_is_no_longer_than_others() -> None:
    problems = StatsProblems()
    problems.note("bots/1", {"\U000e0041" * 64: 0}, None, 0)

    assert names(problems, "bots/1") == [("\\U000e0041" * 7)[:NAME_CHARACTERS]]


def test_a_field_that_comes_again_is_counted_and_is_the_newest() -> None:
    problems = StatsProblems()
    problems.note("bots/1", {"servers": 1, "body": ""}, None, 5)
    problems.note("bots/1", {"servers": "one"}, None, 6)

    newest, oldest = problems.of("bots/1")
    assert (newest.field, newest.times, newest.last_ms, newest.given) == ("servers", 2, 6, "string")
    assert (oldest.field, oldest.times, oldest.last_ms) == ("body", 1, 5)


def test_fields_of_the_contract_that_were_taken_are_none() -> None:
    problems = StatsProblems()
    problems.note("bots/1", {"server_count": 1, "command_count": 1}, None, 0)

    assert len(problems) == 0


def test_every_type_of_json_has_its_name() -> None:
    problems = StatsProblems()
    values: list[Any] = [None, True, 1, 1.5, "", [], {}]
    problems.note("bots/1", {str(index): value for index, value in enumerate(values)}, None, 0)

    assert [problem.given for problem in reversed(problems.of("bots/1"))] == [
        *("null", "boolean", "number", "number", "string", "array", "object")
    ]
