"""The rows of the table of routes with which moderators work. What they decide stands with the listings."""

from forms.fields import Nothing
from handlers.manage_review import ClaimAnswer, NewNote, NoteList, QueuePage, QueueQuery
from handlers.route import Route
from kinds.kind import Kind
from kinds.registry import KINDS


def _of_kind(kind: Kind) -> tuple[Route, ...]:
    thing, one = kind.singular, f"/manage/{kind}/{{id}}"
    form = kind.title
    return (
        Route(
            "POST",
            f"{one}/claim",
            f"claim{form}",
            endpoint=lambda to: to.review[kind].claim,
            access="operator",
            tag="Review",
            summary=f"Take the review of a {thing} on",
            description=(
                "Tells other moderators who is at it, and forbids them nothing. It takes the place of the "
                "claim of another one."
            ),
            answer=ClaimAnswer,
            outcome="Who is at it now.",
            refuses=("no_such_listing", "not_in_review", "unavailable"),
            body=Nothing,
        ),
        Route(
            "DELETE",
            f"{one}/claim",
            f"release{form}",
            endpoint=lambda to: to.review[kind].release,
            access="operator",
            tag="Review",
            summary=f"Give the review of a {thing} back",
            description="Ends your own claim. That of another moderator stays.",
            answer=ClaimAnswer,
            outcome="Who is at it now.",
            refuses=("no_such_listing", "not_in_review", "unavailable"),
        ),
        Route(
            "GET",
            f"{one}/notes",
            f"show{form}Notes",
            endpoint=lambda to: to.review[kind].notes,
            access="operator",
            tag="Review",
            summary=f"Show the notes on a {thing}",
            description="What moderators note for each other. Owners never see it.",
            answer=NoteList,
            outcome="The newest notes.",
            refuses=("no_such_listing",),
        ),
        Route(
            "POST",
            f"{one}/notes",
            f"note{form}",
            endpoint=lambda to: to.review[kind].note,
            access="operator",
            tag="Review",
            summary=f"Note something on a {thing}",
            description="For other moderators. With too many notes, the oldest one goes.",
            answer=NoteList,
            outcome="The newest notes, this one included.",
            refuses=("no_such_listing", "unavailable"),
            body=NewNote,
            status=201,
        ),
    )


REVIEW_ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/manage/queue",
        "showQueue",
        endpoint=lambda to: to.queue.show,
        access="operator",
        tag="Review",
        summary="Show what waits for a decision",
        description=(
            "Bots and servers in review, and changes of approved ones, in pages. The one that waits for "
            "longest is first."
        ),
        answer=QueuePage,
        outcome="A page of the queue.",
        query=QueueQuery,
    ),
    *(route for kind in KINDS for route in _of_kind(kind)),
)
