"""The texts of refusals: one table says each code once. Invariant: a code names one text and one status.

A rule says no with a code and its facts: `Refusal("too_many_keys", most=10)` of a whole request, `Fault` of
one field. The API formats the English text with the facts, a page says the plain text or the same one in the
visitor's language, and the OpenAPI document formats the example. A `Text` is in the catalogs of pages; a
`str` is for programmers and operators alone, and every page shows it in English.

Facts whose names end in `_ms` are times. A text writes them in UTC. The document shows the examples in the
order of the table.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Literal, NamedTuple

from languages.texts import Text, Words, in_english

Code = (
    Literal["no_count_given", "server_count_out_of_range", "command_count_out_of_range"]
    | Literal["server_count_too_far_off", "authorization_required", "invalid_key", "key_with_scheme"]
    | Literal["bot_not_found", "too_many_requests", "count_unknown", "count_asked_for"]
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
    | Literal["too_many_tests", "not_suspended", "nothing_to_probe", "not_signed"]
    | Literal["method_not_allowed", "place_lost", "unavailable", "file_not_read"]
    | Literal["search_unavailable", "not_ready", "cut_off", "no_workers"]
    | Literal["bug"]
    | Literal["missing", "unknown_field", "not_text", "not_boolean", "not_whole", "not_a_list", "not_a_form"]
    | Literal["not_a_choice", "not_matching", "text_empty", "text_too_short", "text_too_long", "list_empty"]
    | Literal["list_too_long", "too_low", "too_high"]
    | Literal["no_snowflake", "named_twice", "names_the_owner", "not_later", "wrong_length", "nothing_seen"]
    | Literal["not_one_line", "control_character", "direction_changed", "not_one_way", "end_alone"]
    | Literal["not_offered", "not_a_pair", "not_an_invite", "invite_gone", "invite_elsewhere"]
    | Literal["invite_expires", "not_a_template", "template_gone", "tag_denied", "files_full"]
    | Literal["not_a_colour", "no_package", "no_emoji_name"]
    | Literal["values_taken", "not_a_handle", "name_reserved", "link_elsewhere"]
    | Literal["not_one_of", "page_out_of_range", "query_too_long", "not_a_cursor", "not_an_event_id"]
    | Literal["url_too_long", "url_not_ascii", "not_http", "url_with_user", "url_authority", "url_port"]
    | Literal["url_zone", "url_ipv6", "url_ipv4", "host_too_long", "host_dots", "label_too_long"]
    | Literal["label_hyphen", "host_letters", "not_header_value"]
    | Literal["no_such_file", "not_such_a_file", "file_damaged", "file_too_large", "picture_too_large"]
    | Literal["too_many_pixels", "too_many_frames", "sound_too_long", "no_field_of_files"]
    | Literal["not_chat_host", "not_chat_webhook", "token_of_chat", "language_of_others", "token_elsewhere"]
    | Literal["chat_host_itself", "chat_https", "chat_path", "port_too_low", "port_of_others"]
    | Literal["not_an_address", "private_address", "not_one_host", "network_refused", "this_machine"]
    | Literal["this_gateway", "not_https"]
)
Fact = Words | int | None
Facts = Mapping[str, Fact]
NO_FACTS: Facts = MappingProxyType({})


class Fault(NamedTuple):
    """A broken rule of a field, or the reason of a refusal: a code, and the facts that its text names."""

    code: Code
    facts: Facts = NO_FACTS


class Said(NamedTuple):
    """The texts of a code.

    `facts` are an example of its facts. A page says `plain` where only programmers would understand `text`.
    `summary` heads the example in the OpenAPI document.
    """

    status: int
    text: Words
    facts: Facts = NO_FACTS
    plain: Text | None = None
    summary: str = ""


def in_words(code: Code, facts: Facts = NO_FACTS) -> str:
    """Return the English text of the API."""
    return in_english(_filled(SAID[code].text, facts))


def plainly(code: Code, facts: Facts = NO_FACTS) -> Words:
    """Return the text of a page."""
    said = SAID[code]
    return _filled(said.plain or said.text, facts)


def _filled(words: Words, facts: Facts) -> Words:
    """Return the text with the facts that it names."""
    values = {name: _value(name, fact) for name, fact in facts.items()}
    if isinstance(words, Text):
        return Text(words.english, **values)
    return in_english(Text(words, **values))


def _value(name: str, fact: Fact) -> Words:
    if isinstance(fact, int) and name.endswith("_ms"):
        return f"{datetime.fromtimestamp(fact / 1_000, UTC):%Y-%m-%d %H:%M}"
    return fact if isinstance(fact, Text) else str(fact)


def _field(text: Words, plain: Text | None = None, **facts: Fact) -> Said:
    """Return the texts of a field's fault, which follow the field's name."""
    return Said(400, text, facts or NO_FACTS, plain)


SAID: Mapping[Code, Said] = {
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
    "no_code": Said(409, Text("The description at the chat platform does not hold the code.")),
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
    "no_workers": Said(
        409,
        "This gateway is one process. Only several workers can be replaced while they serve "
        "(server.workers).",
        summary="The gateway has no workers",
    ),
    "cut_off": Said(503, "This node is cut off from its fleet; another one can answer."),
    "bug": Said(
        500,
        Text("Something went wrong here; the operators find it under {number}."),
        {"number": "9f2c4e6a8b0d1f35"},
        summary="A bug",
    ),
    # Fields: their types and sizes
    "missing": _field("field required", Text("Fill this in.")),
    "unknown_field": _field("extra inputs are not permitted"),
    "not_text": _field("input should be a valid string"),
    "not_boolean": _field("input should be a valid boolean"),
    "not_whole": _field("input should be a valid integer", Text("Enter a whole number.")),
    "not_a_list": _field("input should be a valid list"),
    "not_a_form": _field("input should be a valid dictionary or instance of {form}", form="Limit"),
    "not_a_choice": _field(
        "input should be {choices}",
        Text("Choose one of the offered values."),
        choices="'vote' or 'vote.struck'",
    ),
    "not_matching": _field(
        "string should match pattern '{pattern}'",
        Text("This is not in the form that is needed. Check it."),
        pattern="^[0-9a-f]{16}$",
    ),
    "text_empty": _field("string should have at least 1 character", Text("Fill this in.")),
    "text_too_short": _field(
        "string should have at least {least} characters", Text("Write at least {least} characters."), least=16
    ),
    "text_too_long": _field(
        "string should have at most {most} characters",
        Text("Shorten this to {most} characters at most."),
        most=150,
    ),
    "list_empty": _field(
        "list should have at least 1 item after validation, not 0", Text("Choose at least one.")
    ),
    "list_too_long": _field(
        "list should have at most {most} items after validation, not {given}",
        Text("There are {given} of these. Keep {most} at most."),
        most=4,
        given=5,
    ),
    "too_low": _field(
        "input should be greater than or equal to {least}", Text("Enter {least} or more."), least=0
    ),
    "too_high": _field(
        "input should be less than or equal to {most}", Text("Enter {most} or less."), most=604_800
    ),
    # Fields: texts, users and times
    "no_snowflake": _field(
        "must be a snowflake: 17 to 20 digits", Text("Enter the ID: 17 to 20 digits, and nothing else.")
    ),
    "named_twice": _field("must not name one twice", Text("One of these is here twice. Remove it.")),
    "names_the_owner": _field(
        "must be other users than the owner", Text("You are the owner already. Name other people here.")
    ),
    "not_later": _field("must be later than now", Text("Choose a time in the future.")),
    "wrong_length": _field(
        "must have {least} to {most} characters",
        Text("Enter {least} to {most} characters."),
        least=1,
        most=512,
    ),
    "nothing_seen": _field(
        "must have a character that can be seen", Text("Write something that people can see.")
    ),
    "not_one_line": _field(
        "must be on one line, without {character}",
        Text("Write it on one line. It has the character {character}: remove it."),
        character="U+000A",
    ),
    "control_character": _field(
        "must have no control characters, such as {character}",
        Text("It has the invisible character {character}. Remove it."),
        character="U+0000",
    ),
    "direction_changed": _field(
        "must not change the direction of text with {character}",
        Text("It changes the direction of text with {character}. Remove that character."),
        character="U+202E RIGHT-TO-LEFT OVERRIDE",
    ),
    "not_one_way": _field(
        "choose users, the flagged votes or a time: one of the three",
        Text("Choose users, the flagged votes or a time: one of the three."),
    ),
    "end_alone": _field(
        "choose no end of a time without its beginning", Text("Choose the beginning of the time, too.")
    ),
    "not_offered": _field("must be one of the choices", Text("Choose one of the offered values.")),
    "not_a_pair": _field(
        "must be a name, a colon with a space, and what it means, such as /play: Plays a song",
        Text("Write a name, a colon with a space, and what it means, such as /play: Plays a song"),
    ),
    "not_an_invite": _field(
        "must be an invite, such as https://discord.gg/abc123, or its code",
        Text("This is not an invite. Copy one from the server, such as https://discord.gg/abc123."),
    ),
    "invite_gone": _field(
        "does not exist at the chat platform, or has ended: make an invite that never expires",
        Text("This invite does not exist, or has ended. Make one that never expires."),
    ),
    "invite_elsewhere": _field(
        "leads to another server: make an invite in this one",
        Text("This invite leads to another server. Make one in this server."),
    ),
    "invite_expires": _field(
        "expires: make an invite that never does", Text("This invite expires. Make one that never does.")
    ),
    "not_a_template": _field(
        "must be a template of servers, such as https://discord.new/hgM48av5Q69A, or its code",
        Text("This is no template. Copy its link from the server, such as https://discord.new/hgM48av5Q69A."),
    ),
    "template_gone": _field(
        "does not exist at the chat platform",
        Text(
            "The chat platform knows no such template. Copy its link again from the settings of the server."
        ),
    ),
    "tag_denied": _field(
        "is a word that this site does not allow",
        Text("This site does not allow one of these words. Choose others."),
    ),
    "files_full": _field(
        "is too much: all files of a user together may take {most} MB",
        Text("All your files together may take {most} MB. Use smaller ones, or remove some."),
        most=64,
    ),
    "not_a_colour": _field("must be a colour, such as #5865f2", Text("Write a colour such as #5865f2.")),
    "no_package": _field(
        "must be one, or {least} to {most} for a package",
        Text("Choose one picture, or {least} to {most} for a package."),
        least=4,
        most=9,
    ),
    "no_emoji_name": _field(
        "must be 2 to 20 of a-z, 0-9 and _",
        Text("Write 2 to 20 lower-case letters (a to z), digits and underscores."),
    ),
    "values_taken": _field(
        "belongs to another listing", Text("Another listing has this already. Choose something else.")
    ),
    "not_a_handle": _field(
        "must be letters from a to z, digits, underscores and dots, with a letter or a digit",
        Text("Use a to z, 0 to 9, underscores and dots, with at least one letter or digit."),
    ),
    "name_reserved": _field(
        "is reserved, or looks like a reserved name",
        Text("This name is reserved, or looks like one that is. Choose another one."),
    ),
    "link_elsewhere": _field(
        "looks like {platform}, but is not on {host}",
        Text("This looks like {platform}, but is not on {host}. Copy the address from there."),
        platform="GitHub",
        host="github.com",
    ),
    # Parameters of a query or a path
    "not_one_of": _field("must be one of {choices}", choices="sign_in, submit, vote, report"),
    "page_out_of_range": _field("must be from 1 to {most}", most=500),
    "query_too_long": _field("must not be longer than {most} characters", most=100),
    "not_a_cursor": _field("must be the `next` of another page"),
    "not_an_event_id": _field("must be the `next` of another page, or the id of an event"),
    # URLs and headers
    "url_too_long": _field(
        "must have at most {most} characters",
        Text("This address is too long. Use one of {most} characters at most."),
        most=2_048,
    ),
    "url_not_ascii": _field(
        "must be plain ASCII without spaces, control characters or backslashes",
        Text("This address has a space or a special character. Copy it from the address bar of a browser."),
    ),
    "not_http": _field(
        "must be an http or https URL with a host",
        Text(
            "This is not a web address. It must begin with https:// and have a host, such as https://example.com."
        ),
    ),
    "url_with_user": _field(
        "must not carry a user name or password",
        Text("This address has a user name or a password. Remove the part before the @."),
    ),
    "url_authority": _field(
        "must have a host and perhaps a port, with brackets around an IPv6 address alone",
        Text("The host of this address is not valid. Check the part between // and the next /."),
    ),
    "url_port": _field(
        "must have a port from 1 to 65535 without leading zeros, if any",
        Text("The port of this address is not valid. Use one from 1 to 65535, or none."),
    ),
    "url_zone": _field(
        "must not name a zone beside the IPv6 address of its host",
        Text("Leave the zone out of the IPv6 address."),
    ),
    "url_ipv6": _field(
        "must have a valid IPv6 address between the brackets of its host",
        Text("The IPv6 address between the brackets is not valid. Check it."),
    ),
    "url_ipv4": _field(
        "must write the IPv4 address of its host as four numbers from 0 to 255",
        Text("The IPv4 address is not valid. Write four numbers from 0 to 255, with dots between."),
    ),
    "host_too_long": _field(
        "must have a host of at most {most} characters",
        Text("The host of this address is longer than {most} characters. Check it."),
        most=253,
    ),
    "host_dots": _field(
        "must not have a dot at an end of its host, or two together",
        Text("The host of this address has one dot too many. Remove it."),
    ),
    "label_too_long": _field(
        "must have at most {most} characters between the dots of its host",
        Text("A part of the host of this address is longer than {most} characters. Check it."),
        most=63,
    ),
    "label_hyphen": _field(
        "must not have a hyphen at an end of a part of its host",
        Text("A part of the host of this address begins or ends with a hyphen. Remove it."),
    ),
    "host_letters": _field(
        "must have a host of letters, digits, hyphens, underscores and dots as they are",
        Text("The host of this address has a character that is not allowed there. Check it."),
    ),
    "not_header_value": _field(
        "must be visible ASCII, because it is sent as a header",
        Text(
            "Use letters, digits and signs of a plain keyboard, without line breaks: it is sent as a header."
        ),
    ),
    # Files
    "no_such_file": _field(
        "must be the digest of an uploaded file: upload it, or do that again",
        Text("Choose a file. If you have chosen one, choose it once more."),
    ),
    "not_such_a_file": _field(
        "must be a file of one of these types: {types}",
        Text("This is no file of these types: {types}. Export it as one of them."),
        types="PNG, GIF or WEBP",
    ),
    "file_damaged": _field(
        "must be a whole file, and this one is damaged",
        Text("This file is cut off or damaged. Export it once more."),
    ),
    "file_too_large": _field(
        "must not be larger than {most} KiB",
        Text("This file is too large. Use one of {most} KiB at most."),
        most=256,
    ),
    "picture_too_large": _field(
        "must not be larger than {width} x {height} pixels",
        Text("This picture is larger than {width} x {height} pixels. Choose it once more."),
        width=128,
        height=128,
    ),
    "too_many_pixels": _field(
        "must not have more than {most} million pixels, in all its frames together",
        Text("This picture has more than {most} million pixels in all. Make it smaller."),
        most=64,
    ),
    "too_many_frames": _field(
        "must not have more than {most} frames",
        Text("This picture has too many frames. Use one with {most} at most."),
        most=200,
    ),
    "sound_too_long": _field(
        "must not be longer than {most} seconds",
        Text("This sound is too long. Cut it to {most} seconds."),
        most="5.2",
    ),
    "no_field_of_files": _field("must be a field of that kind which has files"),
    # Where a webhook leads
    "not_chat_host": _field(
        "must be on a chat platform's host",
        Text("This is not an address of a chat platform. Copy it from the settings of the channel."),
    ),
    "not_chat_webhook": _field(
        "must be a chat platform's webhook URL",
        Text("This is not a webhook of a chat platform. Copy its address from the settings of the channel."),
    ),
    "token_of_chat": _field(
        "is not supported for a chat platform's webhook URL",
        Text("A chat platform takes no token. Leave this empty."),
    ),
    "language_of_others": _field(
        "is only for a chat platform's webhook URL",
        Text("Only messages to a chat platform have a language. Choose none."),
    ),
    "token_elsewhere": _field(
        "is not sent to another server: type it again, or tick the box to send none",
        Text("The token is not sent to another server. Type it again, or tick the box to send none."),
    ),
    "chat_host_itself": _field(
        "must be on the chat platform's host itself",
        Text("Use the address exactly as the chat platform shows it."),
    ),
    "chat_https": _field(
        "must be an https URL without a port on a chat platform's host",
        Text("Use the address exactly as the chat platform shows it: with https, and without a port."),
    ),
    "chat_path": _field(
        "must end in /api/webhooks/<id>/<token> on a chat platform's host; other forms, such as "
        "/slack and /github, are not supported",
        Text("Use the address exactly as the chat platform shows it. It ends in an id and a token."),
    ),
    "port_too_low": _field(
        "must have port 80, port 443 or one from 1024 to 65535",
        Text("We send nothing to this port. Use 80, 443, or one from 1024 to 65535."),
    ),
    "port_of_others": _field(
        "must not have port {port}, which belongs to another protocol",
        Text("We send nothing to port {port}, which belongs to another protocol. Use another one."),
        port=5_432,
    ),
    "not_an_address": _field(
        "must lead to an IP address", Text("This host has no IP address. Check the address.")
    ),
    "private_address": _field(
        "must not lead to a private address ({range})",
        Text("This leads to a private address ({range}), which we cannot reach. Use a public one."),
        range="localhost",
    ),
    "not_one_host": _field(
        "must lead to one host: not to an unspecified, multicast or broadcast address",
        Text("This does not lead to one host. Use the public address of your server."),
    ),
    "network_refused": _field(
        "must not lead to a network that the operator has refused",
        Text("The team of this site sends nothing to this network. Use another server."),
    ),
    "this_machine": _field(
        "must not lead to the machine that this gateway runs on",
        Text("This leads back to this site. Use the address of your own server."),
    ),
    "this_gateway": _field(
        "must not lead to this gateway itself",
        Text("This leads back to this site. Use the address of your own server."),
    ),
    "not_https": _field(
        "must be https", Text("This begins with http. Use https, so that nobody on the way can read it.")
    ),
}
