"""people/permissions.py: each check of a moderator reads the state again."""

import pytest

from core.actors import OPERATOR, user_actor
from core.ledger import Ledger
from core.user_rows import user_ref
from languages.refusals import Refusal
from people.permissions import Moderators
from tests.support.sample_rows import NOW_MS, OTHER_USER, OWNER, USER
from tests.support.slots_set import role_set


def test_moderators_are_named_in_the_settings_or_appointed(ledger: Ledger, moderators: Moderators) -> None:
    assert (moderators.has(OWNER), moderators.has(USER)) == (True, False)
    ledger.commit(moderators.appoint(USER, NOW_MS, by=OPERATOR))
    assert (moderators.has(USER), moderators.has(OTHER_USER)) == (True, False)
    assert list(moderators.sources().items()) == [(OWNER, "settings"), (USER, "appointed")]


def test_a_moderator_s_role_comes_from_the_settings_before_any_appointment(
    ledger: Ledger, moderators: Moderators
) -> None:
    ledger.commit([role_set(user_ref(user), "moderator", NOW_MS, by=OPERATOR) for user in (USER, OWNER)])
    sources = [moderators.source(user) for user in (OWNER, USER, OTHER_USER)]
    assert sources == ["settings", "appointed", None]
    assert moderators.sources() == {OWNER: "settings", USER: "appointed"}


def test_who_is_dismissed_is_none_at_once(ledger: Ledger, moderators: Moderators) -> None:
    ledger.commit(moderators.appoint(USER, NOW_MS, by=OPERATOR))
    dismissed = moderators.dismiss(USER, NOW_MS, by=user_actor(OWNER))
    assert dismissed == [role_set(user_ref(USER), None, NOW_MS, by=user_actor(OWNER))]
    ledger.commit(dismissed)
    assert (moderators.has(USER), moderators.sources()) == (False, {OWNER: "settings"})


def test_what_is_so_already_changes_nothing(ledger: Ledger, moderators: Moderators) -> None:
    assert moderators.appoint(OWNER, NOW_MS, by=OPERATOR) == []
    assert moderators.dismiss(USER, NOW_MS, by=OPERATOR) == []
    ledger.commit(moderators.appoint(USER, NOW_MS, by=OPERATOR))
    assert moderators.appoint(USER, NOW_MS, by=OPERATOR) == []


def test_one_whom_the_settings_name_is_dismissed_there(moderators: Moderators) -> None:
    with pytest.raises(Refusal, match="moderator_by_settings"):
        moderators.dismiss(OWNER, NOW_MS, by=OPERATOR)


def test_no_moderator_is_in_the_power_of_another_one(ledger: Ledger, moderators: Moderators) -> None:
    moderators.refuse_moderator(USER)
    ledger.commit(moderators.appoint(USER, NOW_MS, by=OPERATOR))
    for each in (OWNER, USER):
        with pytest.raises(Refusal, match="is_moderator"):
            moderators.refuse_moderator(each)
