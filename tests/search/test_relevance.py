"""The judged searches: a visitor sees what was meant among the first five results."""

import asyncio
from statistics import mean

from tests.support.judged_searches import answers, invented, judged

GOAL = 0.9


def test_the_first_five_results_of_the_judged_searches_are_right() -> None:
    queries = judged()
    assert len(queries) == 60
    found = asyncio.run(answers(queries))
    precisions = [each.precision(names) for each, names in zip(queries, found, strict=True)]
    wrong = [each.q for each, precision in zip(queries, precisions, strict=True) if not precision]
    assert not wrong, "a search whose first five results are all wrong"
    assert mean(precisions) >= GOAL


def test_every_judgement_names_listings_that_there_are() -> None:
    names = {name for each in judged() for name in each.right}
    assert all(each.right for each in judged())
    assert names <= {each["name"] for kind in invented().values() for each in kind}
