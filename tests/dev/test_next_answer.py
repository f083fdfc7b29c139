"""The plan for the next answer."""

from dev.next_answer import PLANS, NextAnswer, planned_refusal
from ratelimit.bucket import headers


def test_the_plans_follow_each_other_and_end_with_none() -> None:
    answer = NextAnswer()
    assert [answer.turn() for _ in range(5)] == ["429", "500", "slow", None, "429"]


def test_a_plan_is_used_up_by_one_answer() -> None:
    answer = NextAnswer()
    for plan in PLANS:
        answer.plan = plan
        assert (answer.take(), answer.take()) == (plan, None)


def test_a_planned_429_says_when_to_come_again() -> None:
    named = headers(planned_refusal(0).limits)
    assert (named["retry-after"], named["ratelimit-remaining"], named["ratelimit-reset"]) == ("5", "0", "5")
