"""web/people/ownership_code.py: a code is of one user and one listing."""

import re

from listings.keys import KeyDigester
from web.people.ownership_code import code_maker


def test_each_user_has_a_code_of_their_own_for_each_listing_and_each_deployment() -> None:
    code_of, elsewhere = (code_maker(KeyDigester(secret).digest) for secret in (b"s", b"t"))
    codes = [code_of("bots/1", "2"), code_of("bots/1", "3"), code_of("bots/2", "2"), elsewhere("bots/1", "2")]
    assert len({*codes}) == 4
    assert code_of("bots/1", "2") == codes[0]
    assert all(re.fullmatch("votegate-[0-9a-f]{10}", code) for code in codes)
