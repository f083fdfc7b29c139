"""Answers that no service should give: any JSON value, and a good answer with fields that are wrong."""

from typing import Any

from hypothesis import strategies as st

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)


def altered(answer: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The answer with some fields left out, and others holding anything."""
    changes = st.dictionaries(st.sampled_from(sorted(answer)), anything, max_size=4)
    gone = st.sets(st.sampled_from(sorted(answer)), max_size=4)
    return st.builds(
        lambda change, left_out: {
            name: value for name, value in {**answer, **change}.items() if name not in left_out
        },
        changes,
        gone,
    )
