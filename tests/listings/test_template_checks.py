"""listings/template_checks.py: what answers about a template change, and what they leave."""

from msgspec.structs import replace

from core.actors import GATEWAY, user_actor
from core.events import ListingReviewed
from core.ledger import Ledger
from core.rows import Listing, TemplateCheck
from forms.file_fields import FileRef
from forms.reading import read
from kinds.server_templates import TEMPLATES
from listings import rules
from listings.owners import is_proven
from listings.template_checks import checked, checked_at_submission
from tests.support.sample_rows import DAY_MS, NOW_MS, OTHER_USER, OWNER

REF = TEMPLATES.ref(TEMPLATES.id.sample)
FORM = read(
    TEMPLATES.submission,
    {
        "owner_id": OWNER,
        "id": TEMPLATES.id.sample,
        "name": "Game night",
        "description": "A server for a group that plays every week.",
        "categories": ["Gaming"],
    },
)
TREE = FileRef("ab" * 32, "application/msgpack", 400)
THERE = TemplateCheck(NOW_MS, uses=12, channels=8, roles=3, tree=TREE)
GONE = TemplateCheck(NOW_MS, problem="gone")
GRACE_MS = 3 * DAY_MS


def submitted(ledger: Ledger, found: TemplateCheck | None, creator: str | None = None) -> Listing:
    by = user_actor(OWNER)
    ledger.commit(
        [
            *rules.submit(ledger.state, REF, FORM, NOW_MS, by=by),
            *checked_at_submission(REF, OWNER, found, creator, NOW_MS, by=by),
        ]
    )
    return ledger.state.listings[REF]


def checked_again(
    ledger: Ledger, found: TemplateCheck, at_ms: int = NOW_MS, creator: str | None = None
) -> Listing:
    found = replace(found, at_ms=at_ms)
    ledger.commit(checked(ledger.state, REF, found, creator, at_ms, GRACE_MS, by=GATEWAY))
    return ledger.state.listings[REF]


def outcome(row: Listing) -> str | None:
    return row.eligibility.outcome if row.eligibility is not None else None


def test_a_submission_keeps_the_answer_and_that_the_template_exists(ledger: Ledger) -> None:
    row = submitted(ledger, THERE)
    assert (row.template, outcome(row), is_proven(row)) == (THERE, "pass", False)


def test_an_answer_that_never_came_is_unknown(ledger: Ledger) -> None:
    row = submitted(ledger, None)
    assert (row.template, outcome(row)) == (None, "unknown")


def test_the_user_who_made_the_template_has_proven_to_own_it(ledger: Ledger) -> None:
    assert is_proven(submitted(ledger, THERE, OWNER))
    assert ledger.state.listings[REF].audit_log[0].action == "ownership_proven"


def test_a_later_check_proves_the_ownership_once(ledger: Ledger) -> None:
    submitted(ledger, None)
    assert not is_proven(checked_again(ledger, THERE, creator=OTHER_USER))
    for number in (1, 2):
        assert is_proven(checked_again(ledger, THERE, NOW_MS + number, OWNER))
    proven = [act for act in ledger.state.listings[REF].audit_log if act.action == "ownership_proven"]
    assert len(proven) == 1


def test_a_template_that_is_gone_keeps_its_numbers_and_its_tree(ledger: Ledger) -> None:
    submitted(ledger, THERE)
    row = checked_again(ledger, GONE, NOW_MS + 1)
    assert row.template == replace(THERE, at_ms=NOW_MS + 1, problem="gone")
    assert outcome(row) == "fail"


def test_an_answer_without_a_tree_keeps_the_one_before(ledger: Ledger) -> None:
    submitted(ledger, THERE)
    row = checked_again(ledger, TemplateCheck(NOW_MS, uses=13), NOW_MS + 1)
    assert row.template == replace(THERE, at_ms=NOW_MS + 1, uses=13)


def test_an_approved_template_that_is_gone_is_hidden_after_the_grace_period_and_comes_back(
    ledger: Ledger,
) -> None:
    submitted(ledger, THERE)
    ledger.commit([ListingReviewed(REF, "approved", None, NOW_MS)])
    assert checked_again(ledger, GONE, NOW_MS + 1).is_public
    assert checked_again(ledger, GONE, NOW_MS + GRACE_MS).is_public
    assert not checked_again(ledger, GONE, NOW_MS + 1 + GRACE_MS).is_public
    assert checked_again(ledger, THERE, NOW_MS + 2 + GRACE_MS).is_public
