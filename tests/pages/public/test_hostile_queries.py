"""Queries of lists and of suggestions that hold anything: each is answered, and none becomes markup.

The visitor checks each page: elements are closed in order, and none has script or style (`check_html`).
"""

from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from tests.support.people_gateway import PeopleGateway

PATHS = ("/bots?q={}", "/bots?keyword={}", "/servers?q={}&sort=name", "/bots/suggestions.json?q={}")
MARKUP = (
    *("<b>", "</title>", "<!--", "<script>alert(1)</script>", "'><svg/onload=alert(1)>", '"><p style="a">'),
    *("<style></style>", "{{ 1 }}", "{% raw %}", "&lt;", "&#60;b&#62;", "javascript:alert(1)", "]]>"),
)
QUERIES = (
    "' OR 1=1 --",
    *('"a', "NEAR(a b, 5)", "name : x", "a* ^b", "((", "* OR *", "{a} : b", "col:*", "a AND NOT b"),
)
texts = st.lists(st.sampled_from(MARKUP + QUERIES) | st.text(max_size=12), max_size=30).map("".join)
junk = st.binary(max_size=80).map(lambda given: "".join(f"%{each:02x}" for each in given))
cut = st.lists(st.sampled_from(("%", "%2", "%zz", "%u0041", "%C0%AF", "%ed%a0%80", "+", ";", "=", "a")))


@given(texts.map(quote) | junk | cut.map("".join))
def test_any_query_is_answered_and_is_text(gateway: PeopleGateway, query: str) -> None:
    stranger = gateway.person(None)
    for path in PATHS:
        answer = stranger.get(path.format(query))
        assert answer.status_code == 200
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        if answer.headers["Content-Type"] == "application/json":
            assert answer.json()["success"]
        else:
            assert not any(each in answer.text for each in ("alert(1)</script>", "<svg/", '"><p'))
