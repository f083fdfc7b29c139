"""The rows of the table of people's pages that are for moderators."""

from web.pages import PageRow

_ONE = "/review/{kind}/{id}"
REVIEW_PAGES = (
    PageRow("GET", "/review", lambda to: to.queue.show, "moderator"),
    PageRow("GET", "/review.json", lambda to: to.queue.twin, "moderator"),
    PageRow("GET", "/review/votes", lambda to: to.flags.show, "moderator"),
    PageRow("GET", "/review/votes.json", lambda to: to.flags.twin, "moderator"),
    PageRow("GET", f"{_ONE}.json", lambda to: to.review.twin, "moderator"),
    PageRow("GET", _ONE, lambda to: to.review.show, "moderator"),
    PageRow("GET", f"{_ONE}/votes.json", lambda to: to.vote_removals.twin, "moderator"),
    PageRow("GET", f"{_ONE}/votes", lambda to: to.vote_removals.show, "moderator"),
    PageRow("POST", f"{_ONE}/votes", lambda to: to.vote_removals.strike, "moderator", gives_back=True),
    PageRow("POST", f"{_ONE}/claim", lambda to: to.review.claim, "moderator"),
    PageRow("POST", f"{_ONE}/release", lambda to: to.review.release, "moderator"),
    PageRow("POST", f"{_ONE}/notes", lambda to: to.review.note, "moderator", gives_back=True),
    PageRow("POST", f"{_ONE}/approve", lambda to: to.review.approve, "moderator"),
    PageRow("POST", f"{_ONE}/deny", lambda to: to.review.deny, "moderator", gives_back=True),
    PageRow("POST", f"{_ONE}/agree", lambda to: to.review.agree, "moderator"),
    PageRow("POST", f"{_ONE}/refuse", lambda to: to.review.refuse, "moderator", gives_back=True),
    PageRow("POST", f"{_ONE}/withdraw", lambda to: to.review.withdraw, "moderator", gives_back=True),
    PageRow("POST", f"{_ONE}/quarantine", lambda to: to.quarantines.impose, "moderator", gives_back=True),
    PageRow("POST", f"{_ONE}/lift", lambda to: to.quarantines.lift, "moderator"),
)
