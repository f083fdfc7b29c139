"""The schemas of the document, read off the types. Invariant: no field is declared here a second time.

Bodies and queries are forms with notes (`forms/schema.py`), answers are views, which msgspec describes. Two
rules join them: a field of a profile is described by the form that writes it, and a schema with a title is a
component of that name.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from actions.views import Moment, Snowflake, id_view
from core.rating_index import STARS
from core.rows import AuditAction, CheckOutcome, DeliveryState, ReportReason, Review, WebhookEvent
from core.user_rows import QuarantinedAct
from forms.fields import Form, declared_fields
from forms.file_fields import FileRef
from forms.schema import COMPONENTS, form_components, type_schema
from handlers.reply import ErrorBody, RefusalBody
from handlers.route import AnyRoute
from kinds.kind import Kind, choices_of
from kinds.registry import KINDS
from kinds.shared_fields import TEXT_LANGUAGES
from languages.language_names import Language
from listings.notices import NoticeDeed
from listings.stats import StatsBody
from people.permissions import ModeratorSource

Node = dict[str, Any]
_TEMPLATE = COMPONENTS + "{name}"
_BOUNDS = {"default", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "pattern"}
"""Rules for what is written. What was written under an older rule is still shown."""
_NOT_OURS: Mapping[str, Node] = {
    "Document": {
        "type": "object",
        "required": ["openapi", "info", "paths"],
        "properties": {
            "openapi": {"type": "string"},
            "info": {"type": "object"},
            "paths": {"type": "object"},
        },
    },
    "Page": {"type": "string"},
    "Backup": {"type": "string", "format": "binary"},
    "Upload": {"type": "string", "format": "binary", "description": "The bytes of a picture or a sound."},
    "Metrics": {
        "type": "string",
        "description": "Metrics in the text format of Prometheus, or in OpenMetrics 1.0.",
    },
    "VoteEvents": {
        "type": "string",
        "description": "Server-sent events: `data` is a line as on a page, and `id` the cursor behind it. "
        "The event `lost` comes last: its `data` is the error for a cursor that is too old.",
    },
}
_OF_CONTENT = {
    "application/json": "Document",
    "text/html": "Page",
    "application/octet-stream": "Backup",
    "text/plain": "Metrics",
}

_CHOICES: Mapping[str, Collection[str]] = {
    "ListingState": get_args(Review),
    "ListingKind": tuple(map(str, KINDS)),
    **{
        f"{kind.title}Category": tuple(choices_of(kind.fields[name]))
        for kind in KINDS
        for name in kind.found_by.get("category", ())
        if name not in kind.file_rules
    },
    "TextLanguage": TEXT_LANGUAGES,
    "MessageLanguage": get_args(Language),
    "CheckOutcome": get_args(CheckOutcome),
    "DeliveryState": get_args(DeliveryState),
    "WebhookEvent": get_args(WebhookEvent),
    "ReportReason": get_args(ReportReason),
    "QuarantinedAct": get_args(QuarantinedAct),
    "ModeratorSource": get_args(ModeratorSource),
    "Deed": get_args(AuditAction),
    "NoticeDeed": get_args(NoticeDeed),
}
"""Choices that are components, by their names: most are in several schemas."""
_NAMES = {frozenset(choices): name for name, choices in _CHOICES.items()}

IsTest = Annotated[bool, Meta(extra_json_schema={"const": True})]
IsNoTest = Annotated[bool, Meta(extra_json_schema={"const": False})]


class TestVote(Struct, forbid_unknown_fields=True):
    """The management API asked for a test."""

    user: Snowflake
    test: IsTest


HOOKED = tuple((kind, kind.webhook.id_name) for kind in KINDS if kind.webhook is not None)
"""The kinds whose endpoints get events, with the names of their ids in bodies."""


def _vote_for(kind: Kind, id_name: str) -> type[Struct]:
    return defstruct(
        f"{kind.title}Vote",
        [(id_name, id_view(kind)), ("user", Snowflake), ("test", IsNoTest)],
        namespace={"__doc__": f"A user voted for {kind.one}."},
        module=__name__,
        forbid_unknown_fields=True,
    )


def component_of(event: str) -> str:
    """Return the name of the body of an event among the components."""
    return "".join(part.capitalize() for part in event.split("."))


def _listing_event(event: WebhookEvent, said: str, **own: Any) -> type[Struct]:
    """Return the body of an event of a listing. In `said`, `{one}` stands for the kinds with their ids."""
    *others, last = [f"{kind.one} (`{id_name}`)" for kind, id_name in HOOKED]
    about = said.format(one=f"{', '.join(others)} or {last}" if others else last)
    return defstruct(
        component_of(event),
        [*own.items(), *((name, id_view(kind) | UnsetType, UNSET) for kind, name in HOOKED), ("at", Moment)],
        namespace={"__doc__": about[0].upper() + about[1:]},
        module=__name__,
        forbid_unknown_fields=True,
        kw_only=True,
        tag_field="type",
        tag=event,
    )


WEBHOOK_BODIES: Mapping[str, Sequence[type[Struct]]] = {
    "Vote": (*(_vote_for(kind, id_name) for kind, id_name in HOOKED), TestVote),
    "ListingEvent": (
        _listing_event("review.approved", "{one} was approved."),
        _listing_event("review.denied", "{one} was denied, or its approval was withdrawn.", reason=str),
        _listing_event(
            "vote.struck", "The votes of a user for {one} were removed.", user=Snowflake, reason=str
        ),
        _listing_event(
            "rating.posted",
            "A user has written a review of {one}.",
            user=Snowflake,
            stars=Annotated[int, Meta(ge=1, le=STARS)],
        ),
    ),
}
"""The bodies that webhooks send."""


def ref(name: str) -> Node:
    return {"$ref": _TEMPLATE.format(name=name)}


def name_of(kind: type[Any]) -> str:
    """Return the name of a type's component."""
    return _shown(kind.__name__)


def answer_name(route: AnyRoute) -> str:
    return _OF_CONTENT[route.content_type] if route.answer is None else name_of(route.answer)


def schema_components(routes: Iterable[AnyRoute]) -> Node:
    """Return every schema that the routes need, by name: bodies, then answers."""
    routes = tuple(routes)
    bodies = {route.body: None for route in routes if route.body is not None}
    of_forms = form_components(body for body in bodies if issubclass(body, Form))
    pushes = StatsBody.__subclasses__()
    answers = {route.answer: None for route in routes if route.answer is not None}
    of_webhooks = [body for bodies in WEBHOOK_BODIES.values() for body in bodies]
    of_structs = _structs([*pushes, *answers, ErrorBody, RefusalBody, *of_webhooks])
    for kind in KINDS:
        form = of_forms[name_of(kind.edit)]
        texts = {name: schema for name, schema in form["properties"].items() if name not in kind.file_rules}
        written = {name: _unbound(schema) for name, schema in texts.items()}
        for name in (
            f"Listed{kind.title}",
            f"{kind.title}Answer",
            f"Shown{kind.title}",
            f"Approved{kind.title}",
        ):
            shown = of_structs[name]["properties"] if name in of_structs else {}
            shown |= {field: schema for field, schema in written.items() if field in shown}
    described = {**of_structs, **of_forms}
    return {
        "Stats": {
            "anyOf": [ref(name_of(push)) for push in pushes],
            "description": "At least one of the two counts.",
        },
        **{name: with_named_choices(schema) for name, schema in described.items()},
        **{name: {"type": "string", "enum": [*choices]} for name, choices in _CHOICES.items()},
        **_NOT_OURS,
        **{
            name: {"oneOf": [ref(name_of(body)) for body in bodies]}
            for name, bodies in WEBHOOK_BODIES.items()
        },
    }


def with_named_choices(node: Any) -> Any:
    """Return a schema that refers to choices which are components, so that clients have one type for them."""
    if isinstance(node, list):
        return [with_named_choices(part) for part in node]
    if not isinstance(node, dict):
        return node
    name = _NAMES.get(frozenset(map(str, node["enum"]))) if isinstance(node.get("enum"), list) else None
    if name is not None:
        return {**ref(name), **_without(node, {"type", "enum"})}
    return {key: with_named_choices(part) for key, part in node.items()}


def query_parameters(query: type[Struct]) -> Iterable[tuple[str, Node, bool]]:
    """Yield the names and schemas of a query's parameters, and true for those that are required."""
    for each in declared_fields(query):
        schema = type_schema(each.annotation)
        bare, *others = schema.get("anyOf", [schema])
        if "enum" in bare:
            bare = {**bare, "enum": sorted(bare["enum"])}
        default = {} if others or each.is_required else {"default": each.default}
        ordered = {name: bare[name] for name in _OF_PARAMETERS if name in bare}
        examples = {"examples": schema["examples"]} if "examples" in schema else {}
        shown = {**ordered, "description": schema.get("description", ""), **examples, **default}
        yield each.name, shown, each.is_required


_OF_PARAMETERS = ("$ref", "type", "pattern", "maxLength", "minimum", "maximum", "enum")
"""The keywords of a parameter's schema in their order."""


def is_required(body: type[Struct]) -> bool:
    """Return true if an empty body, read as `{}`, breaks a rule."""
    return not issubclass(body, Form) or any(each.is_required for each in declared_fields(body))


def _structs(types: Iterable[type[Struct]]) -> Node:
    """Return the schemas of structs, and of all that they hold.

    msgspec describes what it reads: a field with a default need not be there. We describe what it writes:
    every field is there, except one that may be UNSET, which has no default in the schema. A file has the
    facts of its type alone.
    """
    _, generated = msgspec.json.schema_components(types, ref_template=_TEMPLATE)
    components: Node = {}
    for struct_name, schema in generated.items():
        fields = schema["properties"]
        written = () if struct_name == FileRef.__name__ else fields
        required = {*schema["required"], *(name for name in written if "default" in fields[name])}
        components[_shown(struct_name)] = {
            **_without(schema, {"title"}),
            "properties": {name: _shared(field, components) for name, field in fields.items()},
            "required": [name for name in fields if name in required],
        }
    return components


def _shown(struct_name: str) -> str:
    """Return the public name of a struct: a view or a body is named after its content."""
    return struct_name.removesuffix("View").removesuffix("Body")


def _shared(schema: Node, components: Node) -> Node:
    """Return the schema of a field, with those that have a title put among the components."""
    if "$ref" in schema:
        return {**schema, "$ref": _shown(schema["$ref"])}
    if "title" in schema:
        components[schema["title"]] = _without(schema, {"title", "default", "examples"})
        examples = {"examples": schema["examples"]} if "examples" in schema else {}
        return {**ref(schema["title"]), **examples}
    typed = {"type": "string"} if "enum" in schema else {}  # msgspec leaves it out
    return _within(lambda part: _shared(part, components), {**typed, **_without(schema, {"default"})})


def _unbound(schema: Node) -> Node:
    return _within(_unbound, _without(schema, _BOUNDS))


def _within(change: Callable[[Node], Node], schema: Node) -> Node:
    """Return the schema with a change to each schema within it."""
    parts: Node = {name: change(schema[name]) for name in ("items", "additionalProperties") if name in schema}
    if "anyOf" in schema:
        parts["anyOf"] = [change(part) for part in schema["anyOf"]]
    return {**schema, **parts}


def _without(schema: Node, names: Collection[str]) -> Node:
    return {name: value for name, value in schema.items() if name not in names}
