"""The codes of refusals of a whole request, each with its status and its texts."""

from collections.abc import Mapping
from typing import Literal

from languages.texts import Said, Text

RefusalCode = (
    Literal["no_count_given", "server_count_out_of_range", "command_count_out_of_range"]
    | Literal["server_count_too_far_off", "authorization_required", "invalid_key", "key_with_scheme"]
    | Literal["bot_not_found", "too_many_requests", "count_unknown", "count_asked_for"]
    | Literal["malformed_request", "headers_too_large", "unknown_method", "too_slow"]
    | Literal["not_json", "not_an_object", "doubled_field", "body_too_large", "unreadable_form"]
    | Literal["from_elsewhere", "invalid_fields", "malformed_user"]
    | Literal["operator_token_required", "invalid_operator_token", "sign_in_required", "not_permitted"]
    | Literal["own_quarantine", "owner_may_not_submit", "is_moderator"]
    | Literal["no_such_path", "no_such_listing", "no_such_key", "no_such_webhook", "no_such_delivery"]
    | Literal["no_such_user", "no_such_session", "no_such_quarantine", "no_invitation", "no_extra_owner"]
    | Literal[
        "no_hand_over", "owns_already", "too_many_owners", "listing_exists", "not_in_review", "is_denied"
    ]
    | Literal["is_approved", "not_approved", "no_change", "other_version", "owner_proves", "no_code"]
    | Literal["owner_proven", "owner_proven_server", "own_listing", "keys_need_approval", "too_many_keys"]
    | Literal[
        "not_public",
        "no_reports",
        "too_many_waiting",
        "votes_need_approval",
        "voted_too_soon",
        "likes_need_approval",
        "liked_too_soon",
        "ratings_need_approval",
        "rates_own",
        "has_not_voted",
        "too_many_ratings",
        "rating_was_removed",
        "no_such_rating",
        "too_many_reports",
        "quarantined",
        "quarantined_without_end",
    ]
    | Literal["moderator_by_settings", "too_many_reminders", "delivery_pending", "too_many_pending"]
    | Literal["too_many_tests", "not_suspended", "nothing_to_probe", "not_signed", "no_workers"]
    | Literal["method_not_allowed", "place_lost", "unavailable", "file_not_read"]
    | Literal["search_unavailable", "not_ready", "cut_off"]
    | Literal["bug"]
)
REFUSAL_TEXTS: Mapping[RefusalCode, Said] = {
    # Both endpoints of bots, in the order of the contract's checks
    "no_count_given": Said(
        400,
        "One of the following fields is required: command_count, server_count.",
        summary="Neither count is given",
    ),
    "server_count_out_of_range": Said(
        400,
        "Server count must be between 0 and 10 Million.",
        summary="The server count is not an integer from 0 to 10,000,000",
    ),
    "command_count_out_of_range": Said(
        400,
        "Commands count must be between 0 and 1,000.",
        summary="The command count is not an integer from 0 to 1,000",
    ),
    "server_count_too_far_off": Said(
        400,
        (
            "The server count provided ({given}) is too far off from the actual server count. It cannot"
            " differ by more than {max_difference} from the actual server count, which is {actual}."
        ),
        {"given": 5000, "max_difference": 100, "actual": 42},
        summary="The server count is not close to the actual one",
    ),
    "authorization_required": Said(401, "Authorization header is required.", summary="No key is sent"),
    "invalid_key": Said(401, "Invalid API key.", summary="The key is not one of this bot's"),
    "key_with_scheme": Said(401, "Invalid API key.", summary="There is a word before the key"),
    "bot_not_found": Said(404, "Bot not found.", summary="There is no such bot, or its id is malformed"),
    "too_many_requests": Said(
        429,
        Text("Too many requests, please try again later."),
        summary="The limit is reached, or this address has failed too often",
    ),
    "count_unknown": Said(
        500,
        "Could not fetch server count.",
        summary="The actual server count is not known",
    ),
    "count_asked_for": Said(
        500,
        "Could not fetch server count.",
        {"retry_seconds": 5},
        summary="The chat platform is being asked for the actual server count",
    ),
    # Requests that are not read to their end
    "malformed_request": Said(400, "The HTTP request is malformed."),
    "headers_too_large": Said(
        431,
        "The request's headers are too large.",
        summary="The request line and the headers are too large together",
    ),
    "unknown_method": Said(501, "This method is not implemented."),
    "too_slow": Said(408, "The request took too long to arrive."),
    # Bodies, forms and queries
    "not_json": Said(400, "The body must be valid JSON in UTF-8.", summary="The body is not JSON"),
    "not_an_object": Said(400, "The body must be a JSON object.", summary="The body is not an object"),
    "doubled_field": Said(400, "The body must not name a field twice.", summary="A field is named twice"),
    "body_too_large": Said(
        413,
        Text("The body must not be larger than {most} bytes."),
        {"most": 65_536},
        summary="The body is too large",
    ),
    "unreadable_form": Said(400, Text("The form could not be read.")),
    "from_elsewhere": Said(403, Text("The form was not sent from a page of this site.")),
    "invalid_fields": Said(400, Text("Some fields are not valid."), summary="Fields are not valid"),
    "malformed_user": Said(
        400, "The user id must be a snowflake: 17 to 20 digits.", summary="The user id is no snowflake"
    ),
    # Permissions
    "operator_token_required": Said(401, "The operator token is required.", summary="No token is sent"),
    "invalid_operator_token": Said(401, "Invalid operator token.", summary="The token is not the operator's"),
    "sign_in_required": Said(401, Text("You must sign in.")),
    "not_permitted": Said(403, Text("You may not see this page.")),
    "own_quarantine": Said(409, Text("You cannot impose or lift a quarantine of your own.")),
    "owner_may_not_submit": Said(
        409,
        Text(
            "The owner of the listing may not submit listings now. Meanwhile nobody can edit or inherit it."
        ),
    ),
    "is_moderator": Said(409, Text("The user moderates, too: only the operator can do that.")),
    # Things that do not exist
    "no_such_path": Said(404, Text("Not found.")),
    "no_such_listing": Said(404, Text("There is no such listing."), summary="There is no such listing"),
    "no_such_key": Said(404, Text("The listing has no such key."), summary="The listing has no such key"),
    "no_such_webhook": Said(404, Text("The listing has no webhook."), summary="The listing has no webhook"),
    "no_such_delivery": Said(
        404, Text("The listing has no such delivery."), summary="The listing has no such delivery"
    ),
    "no_such_user": Said(404, Text("There is no such user."), summary="There is no such user"),
    "no_such_session": Said(
        404, Text("The user has no such session."), summary="The user has no such session"
    ),
    "no_such_quarantine": Said(
        404, Text("The user is under no such quarantine."), summary="The act is not forbidden to the user"
    ),
    "no_invitation": Said(404, Text("The user has no invitation."), summary="The user is not invited"),
    "no_extra_owner": Said(
        404,
        Text("The user is neither a co-owner nor invited."),
        summary="The user is neither a co-owner nor invited",
    ),
    "no_hand_over": Said(
        404,
        Text("The listing is not offered to this user, or the offer has lapsed."),
        summary="The listing is not offered to the user",
    ),
    # Forbidden by the state of a listing
    "owns_already": Said(409, Text("The user owns the listing already."), summary="The user is the owner"),
    "too_many_owners": Said(
        409,
        Text("A listing has at most {most} co-owners and invitations. Remove one first."),
        {"most": 4},
        summary="No more users can be invited",
    ),
    "listing_exists": Said(409, Text("A listing with this id exists."), summary="The id is taken"),
    "not_in_review": Said(
        409, Text("The listing is approved, not in review."), summary="The listing is not in review"
    ),
    "is_denied": Said(409, Text("The listing is denied, not in review.")),
    "is_approved": Said(
        409,
        Text("The listing is approved, not in review. Withdraw its approval instead."),
        summary="The listing is approved",
    ),
    "not_approved": Said(409, Text("The listing is not approved."), summary="It is not approved"),
    "no_change": Said(
        409, Text("The listing has no change that waits for a decision."), summary="No change waits"
    ),
    "other_version": Said(
        409,
        Text("The change is not the one that you saw. Look at it again, then decide."),
        summary="The change has another version now",
    ),
    "owner_proves": Said(409, Text("Only the owner of the listing can verify the ownership.")),
    "no_code": Said(409, Text("The description at the chat platform does not contain the code.")),
    "owner_proven": Said(
        409,
        Text(
            "The present owner has proven that they own the bot. If that is wrong, ask the team of this site."
        ),
    ),
    "owner_proven_server": Said(
        409,
        Text(
            "The present owner has proven that they manage the server. Only the owner of the server at "
            "the chat platform can take the listing over."
        ),
    ),
    "own_listing": Said(409, Text("The listing is yours already.")),
    "keys_need_approval": Said(
        409, Text("Keys are for approved listings only."), summary="The listing is not approved"
    ),
    "too_many_keys": Said(
        409,
        Text("A listing has {most} keys at most; delete one first."),
        {"most": 10},
        summary="The listing has all the keys it may have",
    ),
    # Reports, votes, users and webhooks
    "not_public": Said(
        409, Text("Only a public listing can be reported."), summary="The listing is not public"
    ),
    "no_reports": Said(
        409,
        Text("The listing has no open report. Another moderator may have settled it."),
        summary="No report is open",
    ),
    "too_many_waiting": Said(
        409,
        Text(
            "You have as many listings of this kind in review as you may have: {most}. Wait for a decision."
        ),
        {"most": 1},
        summary="The owner has all the listings in review that they may have",
    ),
    "votes_need_approval": Said(
        409, Text("Only an approved listing can be voted for."), summary="The listing is not approved"
    ),
    "voted_too_soon": Said(
        409,
        Text("This user can vote again in {retry_seconds} seconds."),
        {"retry_seconds": 43_200, "next_vote_ms": 1_782_000_000_000},
        summary="The user voted not long ago",
    ),
    "likes_need_approval": Said(
        409, Text("Only an approved listing can be liked."), summary="The listing is not approved"
    ),
    "liked_too_soon": Said(
        409,
        Text("A like of this user was removed. The user can like it again in {retry_seconds} seconds."),
        {"retry_seconds": 43_200},
        summary="The like was removed not long ago",
    ),
    "ratings_need_approval": Said(
        409, Text("Only an approved listing can be reviewed."), summary="The listing is not approved"
    ),
    "rates_own": Said(
        403, Text("Owners do not review their own listing."), summary="The user owns the listing"
    ),
    "has_not_voted": Said(
        403, Text("Only users who have voted for the listing review it."), summary="The user has not voted"
    ),
    "too_many_ratings": Said(
        409,
        Text("A user has {most} reviews at most; delete one first."),
        {"most": 100},
        summary="The user has all the reviews they may have",
    ),
    "rating_was_removed": Said(
        403,
        Text("Moderators have removed this user's review. The user cannot write another one."),
        summary="Moderators have removed the user's review",
    ),
    "no_such_rating": Said(
        404, Text("The user has no review of the listing."), summary="The user has no review of the listing"
    ),
    "too_many_reports": Said(
        409,
        Text("A user has {most} open reports about a listing at most. Wait for the moderators."),
        {"most": 10},
        summary="The user has reported much of the listing",
    ),
    "quarantined": Said(
        403,
        Text("The user is under quarantine until {until_ms} (UTC): {reason}"),
        {"until_ms": 1_782_000_000_000, "reason": "Buys votes."},
        summary="The user may not vote",
    ),
    "quarantined_without_end": Said(
        403, Text("The user is under quarantine: {reason}"), {"reason": "Buys votes.", "until_ms": None}
    ),
    "moderator_by_settings": Said(
        409,
        "The settings name this moderator; take the id out of web.moderators.",
        summary="The settings name the moderator",
    ),
    "too_many_reminders": Said(
        409, Text("A user has {most} reminders at most; turn one off first."), {"most": 100}
    ),
    "delivery_pending": Said(409, Text("The delivery is still pending."), summary="The delivery is pending"),
    "too_many_pending": Said(
        409, Text("Too many deliveries wait for this endpoint."), summary="The endpoint's queue is full"
    ),
    "too_many_tests": Said(
        409, Text("Too many tests wait for this endpoint."), summary="Earlier tests have no answer yet"
    ),
    "not_suspended": Said(
        409, Text("The endpoint is not suspended."), summary="The endpoint is not suspended"
    ),
    "nothing_to_probe": Said(
        409,
        Text("No delivery waits that could probe the endpoint; send a test."),
        summary="No delivery waits",
    ),
    "not_signed": Said(
        409,
        Text("Messages to a chat platform are not signed."),
        summary="The URL is a chat platform's",
    ),
    # The service itself
    "no_workers": Said(
        409,
        "This gateway is one process. Only several workers can be replaced while they serve "
        "(server.workers).",
        summary="The gateway has no workers",
    ),
    "method_not_allowed": Said(405, Text("Method not allowed. Use {methods}."), {"methods": "GET"}),
    "place_lost": Said(
        410,
        (
            "The journal cannot be read on from this cursor: it is too old, or of another journal. "
            "Begin again, without a cursor."
        ),
        summary="The cursor is too old, or of another journal",
    ),
    "unavailable": Said(
        503,
        Text("Nothing can be written right now: {reason}."),
        {"reason": "the disk does not keep up"},
        summary="Nothing can be written at the moment",
    ),
    "file_not_read": Said(
        503,
        Text("The file could not be read right now. Try again in a moment."),
        summary="The file could not be read: try again",
    ),
    "search_unavailable": Said(503, Text("Listings cannot be searched right now.")),
    "not_ready": Said(
        503,
        Text("Not ready: {reason}."),
        {"reason": "the journal does not take writes: no space left on the disk"},
        summary="The process is stopping, or its journal takes no writes",
    ),
    "cut_off": Said(503, "This node is cut off from its fleet; another one can answer."),
    "bug": Said(
        500,
        Text("Something went wrong here; the operators find it under {number}."),
        {"number": "9f2c4e6a8b0d1f35"},
        summary="A bug",
    ),
}
