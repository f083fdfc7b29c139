"""Every error that an answer can be: an example of each code, as this deployment words it.

The table of codes has the texts and the summaries. A code may have more examples, one for each place where an
operation may find the fault.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from actions.action import RefusedFor
from actions.users import ACTS
from forms.reading import read
from handlers import reply
from handlers.reply import Reply, reply_to
from kinds.registry import KINDS
from languages.refusals import Invalid, Refusal
from languages.said import SAID, Code, Fault
from languages.texts import Facts
from openapi.deployment import Deployment
from openapi.examples import BOT, NOW_MS, QUARANTINE, SERVER_COUNT

REQUEST_ID = str(SAID["bug"].facts["number"])


class Error(NamedTuple):
    """An error by its code, or by the name of one more example of a code."""

    code: RefusedFor | str
    summary: str
    reply: Reply

    @property
    def public(self) -> "Error":
        """The error as the public endpoints answer it."""
        return Error(f"public_{self.code}", self.summary, reply.without_code(self.reply))

    @property
    def name(self) -> str:
        """The name in the document, such as `noSuchKey`."""
        first, *others = self.code.split("_")
        return first + "".join(each.capitalize() for each in others)

    @property
    def family(self) -> str:
        """The name in that of a shared response."""
        _, public, code = self.code.rpartition("public_")
        found = _FAMILIES.get(code, "")
        return f"{'Public' if public else ''}{found}" if found else self.name[0].upper() + self.name[1:]


_FAMILIES: Mapping[str, str] = {
    **dict.fromkeys(("authorization_required", "invalid_key", "key_with_scheme"), "ApiKeyRefused"),
    **dict.fromkeys(("operator_token_required", "invalid_operator_token"), "OperatorTokenRefused"),
    **dict.fromkeys(("not_json", "not_an_object", "doubled_field"), "Unreadable"),
    **dict.fromkeys(
        (
            *("no_count_given", "server_count_out_of_range", "command_count_out_of_range"),
            *("server_count_too_far_off", "count_unknown", "count_asked_for"),
        ),
        "StatsRefused",
    ),
}
"""The codes that the name of a shared response counts as one."""
OUTSIDE = (
    Error("malformed_request", "The request is not HTTP", reply.refused("malformed_request")),
    Error("no_such_path", "There is nothing at this path", reply.refused("no_such_path")),
    Error(
        "method_not_allowed",
        "The path has no such method",
        reply.method_not_allowed(["GET"], "GET, HEAD, OPTIONS"),
    ),
)
"""Errors outside of any operation."""


def errors(deployment: Deployment) -> tuple[Error, ...]:
    """Return every error that an operation can be answered."""
    return tuple(_of_the_table(deployment))


def _of_the_table(deployment: Deployment) -> Iterator[Error]:
    """Yield the errors of the codes that an operation is documented to have, in the order of the table."""
    facts = _facts(deployment)
    for code, said in SAID.items():
        if code == "invalid_fields":
            yield Error(code, said.summary, reply_to(_invalid_edit()))
        elif said.summary:
            yield Error(code, said.summary, reply.refused(code, **facts.get(code, said.facts)))
        for name, summary, refusal in _MORE.get(code, ()):
            yield Error(name, summary, reply_to(refusal))
        if code == "body_too_large":
            too_large = reply.refused(code, most=deployment.upload_bytes)
            yield Error("upload_too_large", "The file is too large", too_large)


def _facts(deployment: Deployment) -> Mapping[Code, Facts]:
    """Return the facts of examples that depend on the deployment, or on other examples."""
    allowed = max(deployment.max_difference, SERVER_COUNT // 10)
    cooldown_ms = round(deployment.vote_cooldown_seconds * 1_000)
    return {
        "server_count_too_far_off": {
            "given": max(5_000, SERVER_COUNT + allowed + 1),
            "max_difference": allowed,
            "actual": SERVER_COUNT,
        },
        "body_too_large": {"most": deployment.max_body_bytes},
        "too_many_keys": {"most": deployment.keys_per_listing},
        "voted_too_soon": {
            "retry_seconds": -(-cooldown_ms // 1_000),
            "next_vote_ms": NOW_MS + cooldown_ms,
        },
        "quarantined": {"reason": QUARANTINE.reason, "until_ms": QUARANTINE.until_ms},
    }


def _invalid_edit() -> Invalid:
    try:
        read(KINDS[0].edit, {"owner_id": BOT[:3], "name": "", "categories": ["Utility"]})
    except Invalid as refusal:
        return refusal
    raise AssertionError("the form took it")


_MORE: Mapping[Code, tuple[tuple[RefusedFor, str, Refusal], ...]] = {
    "malformed_user": (
        ("invalid_id", "The id is no snowflake", Invalid({"id": Fault("no_snowflake")})),
        (
            "invalid_act",
            "There is no such act",
            Invalid({"act": Fault("not_one_of", {"choices": ", ".join(ACTS)})}),
        ),
        (
            "invalid_file",
            "The file breaks a rule of its field",
            Invalid({"banner": Fault("file_damaged")}),
        ),
        (
            "invalid_query",
            "A parameter is not valid",
            Invalid({"limit": Fault("page_out_of_range", {"most": 500})}),
        ),
    ),
    "voted_too_soon": (
        (
            "owner_quarantined",
            "The owner or the heir may not submit listings",
            Refusal("quarantined", reason="You submitted malware.", until_ms=QUARANTINE.until_ms),
        ),
    ),
}
"""More examples, by the code that they come after in the document."""
