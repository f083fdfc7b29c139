"""The example answers of the review desk, by their names in the document."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from core.actors import user_actor
from core.rows import AuditEntry, Claim, Note, Reviewed
from handlers.manage_review import ClaimAnswer, QueuePage, note_list, waiting_listing
from openapi.cast import APPROVED_BOT, CHANGED_BOT, DAY_MS, NOW_MS, OWNER, USER

_CLAIM = Claim(NOW_MS, user_actor(USER))
_WAITING = replace(
    APPROVED_BOT,
    review=Reviewed("in_review", NOW_MS - 2 * DAY_MS),
    audit_log=(AuditEntry(NOW_MS - 2 * DAY_MS, user_actor(OWNER), "submitted"),),
    claim=_CLAIM,
    notes=(Note(NOW_MS, user_actor(USER), "The invite works."),),
)

REVIEW_ANSWERS: Mapping[str, tuple[str, Struct]] = {
    "queue": (
        "A claimed bot, and a change",
        QueuePage(
            usual_wait_ms=6 * 3_600_000,
            queue=(waiting_listing(_WAITING), waiting_listing(CHANGED_BOT)),
            next=None,
        ),
    ),
    "claim": ("A moderator is at it", ClaimAnswer(claimed_by=_CLAIM.by, claimed_at=_CLAIM.at_ms)),
    "noClaim": ("Nobody is at it", ClaimAnswer(claimed_by=None, claimed_at=None)),
    "notes": ("One note", note_list(_WAITING)),
}
