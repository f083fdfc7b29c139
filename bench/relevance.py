"""The relevance of the search: precision at 5 over the judged searches of `tests/search/judged_queries.yaml`.

    python -m bench.relevance [--all]

The precision of a search is the share of right listings among its first five results. If a search has fewer
than five right listings, only so many results count. The searches with wrong results are printed; with
`--all`, all searches are.
"""

import argparse
import asyncio
from statistics import mean

from tests.support.judged_searches import CUT, answers, judged


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.relevance")
    parser.add_argument("--all", action="store_true", help="print every search")
    given = parser.parse_args()
    queries = judged()
    found = asyncio.run(answers(queries))
    precisions = [each.precision(names) for each, names in zip(queries, found, strict=True)]
    for each, names, precision in zip(queries, found, precisions, strict=True):
        if given.all or precision < 1:
            print(f"{precision:.2f}  {each.kind:7}  {each.q}: {', '.join(names[:CUT]) or 'nothing'}")
    whole = sum(precision == 1 for precision in precisions)
    print(f"precision at {CUT} over {len(queries)} searches: {mean(precisions):.3f} ({whole} answered whole)")


if __name__ == "__main__":
    main()
