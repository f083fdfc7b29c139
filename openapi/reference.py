"""Operations of the document as HTML: text on one side, samples and answers on the other.

Invariant: a page has every schema and every response that its operations lead to, and no other.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from handlers.reply import JSON
from openapi.elements import Html, el, inline, prose, section
from openapi.lookup import Node, found, name_in
from openapi.samples import LANGUAGES, SampleRequest, sample_of

LONGEST_PATTERN = 48  # longer ones are for programs; the description says it for people
MOST_LINES = 16
"""The lines up to which an example of an answer is shown beside its operation. A longer one is folded."""
_METHODS = {"GET": "method", "DELETE": "method del"}


class ShownCall(NamedTuple):
    """An operation of the document, with its method and its path."""

    method: str
    path: str
    node: Node

    @property
    def id(self) -> str:
        name: str = self.node["operationId"]
        return name


class ShownExample(NamedTuple):
    """An example of a body, on lines."""

    summary: str
    text: str

    @property
    def is_long(self) -> bool:
        return self.text.count("\n") >= MOST_LINES


class FieldLine(NamedTuple):
    """A value that is sent or answered, and its place in a request."""

    name: str
    schema: Node
    about: str
    is_required: bool
    place: str = ""


def operations(document: Node, tag: str) -> Iterator[ShownCall]:
    """Yield the operations with a tag."""
    for path, item in document["paths"].items():
        for method, node in item.items():
            if tag in node["tags"]:
                yield ShownCall(method.upper(), path, node)


Trial = Callable[[Node, str, str, Node], Html]
"""Returns the form of an operation: takes the document, the method, the path and the operation."""


class Reference:
    """The operations of one page. It remembers which schemas and responses they lead to.

    Args:
        shown: all operations of the page.
        is_whole: true to show refusals and authorization with each operation, false to lead to them.
        trial: returns the form that sends a request of an operation; None for a page without such forms.
    """

    def __init__(
        self, document: Node, shown: Sequence[ShownCall], *, is_whole: bool, trial: Trial | None = None
    ) -> None:
        self._document, self._is_whole, self._trial = document, is_whole, trial
        self._schemas: dict[str, None] = {}
        self._responses: dict[str, None] = {}
        self._uses = Counter(name for operation in shown for name in self._named(operation))

    def _named(self, operation: ShownCall) -> Iterator[str]:
        """Yield the schemas of the body and of the answers of an operation."""
        node = operation.node
        for holder in (node.get("requestBody", {}), *node["responses"].values()):
            for media in holder.get("content", {}).values():
                if "$ref" in media.get("schema", ()):
                    yield name_in(media["schema"])

    # -- Operations ---------------------------------------------------------------------------------------

    def call(self, operation: ShownCall) -> Html:
        """Return an operation that clients call."""
        method, path, node = operation
        chip = el("span", method, class_=_METHODS.get(method, "method post"))
        return el(
            "article",
            el(
                "div",
                el("h3", node["summary"], id=operation.id),
                el("p", chip, " ", el("code", path), class_="endpoint"),
                *prose(node["description"]),
                *self._sent(node, "h4", is_sampled=True),
                el("h4", "The answer"),
                *self._got(node),
                el("h4", "Refusals"),
                *self._refusals_of(node),
            ),
            el(
                "div",
                _samples(sample_of(self._document, *operation)),
                *self._short_answers(node),
                *([self._trial(self._document, *operation)] if self._trial is not None else ()),
                class_="stack",
            ),
            class_="call",
        )

    def webhook(self, node: Node) -> Iterator[Html]:
        """Yield the description of a request that the gateway sends."""
        yield from prose(node["description"])
        yield from self._sent(node, "h3", is_sampled=False)
        yield el("h3", "Your answer")
        for status, response in node["responses"].items():
            yield el("p", el("span", status, class_="chip"), " ", response["description"])

    def _sent(self, node: Node, heading: str, *, is_sampled: bool) -> Iterator[Html]:
        """Yield the parameters and the body. A sample shows the first example of the body already."""
        fields = []
        for parameter in node.get("parameters", ()):
            each = found(self._document, parameter)
            fields.append(
                FieldLine(
                    each["name"],
                    each["schema"],
                    each["description"],
                    is_required=each["required"],
                    place=f"in the {each['in']}",
                )
            )
        schemes = self._document["components"]["securitySchemes"]
        for name in (name for either in node["security"] for name in either) if self._is_whole else ():
            about, is_required = schemes[name]["description"], {} not in node["security"]
            fields.append(FieldLine("Authorization", _TEXT, about, is_required=is_required, place="a header"))
        content = node.get("requestBody", {"content": {}})["content"]
        if fields or content:
            yield el(heading, "The request")
        if fields:
            yield self._list(fields)
        for media_type, media in content.items():
            yield from self._body(media_type, media)
            yield from map(_folded, self._examples(media)[1 if is_sampled else 0 :])

    def _got(self, node: Node) -> Iterator[Html]:
        """Yield the successful answers. Short examples are shown beside the text."""
        for status, response in _successful(node):
            yield el("p", el("span", status, class_="chip good"), " ", response["description"])
            for media_type, media in response.get("content", {}).items():
                yield from self._body(media_type, media)
                yield from (_folded(each) for each in self._examples(media) if each.is_long)
            names = [text for name in response.get("headers", ()) for text in (", ", el("code", name))][1:]
            if names and self._is_whole:
                yield el("p", el("a", "Headers", href="#headers"), ": ", *names)

    def _short_answers(self, node: Node) -> Iterator[Html]:
        for status, response in _successful(node):
            contents = response.get("content", {}).values()
            for example in (each for media in contents for each in self._examples(media)):
                if not example.is_long:
                    title = el("span", el("span", status, class_="chip good"), " ", example.summary)
                    text = el("pre", el("code", example.text))
                    yield el("div", el("header", title), text, class_="block")

    def _examples(self, media: Node) -> list[ShownExample]:
        shown = [found(self._document, example) for example in media.get("examples", {}).values()]
        return [
            ShownExample(each["summary"], json.dumps(each["value"], indent=2, ensure_ascii=False))
            for each in shown
        ]

    def _body(self, media_type: str, media: Node) -> Iterator[Html]:
        schema = media.get("schema", {})
        fields = self._own_fields(schema)
        if not fields:
            shown = self._type(schema) if schema else ["a file"]
            yield el("p", "The body: ", *shown, ", ", el("code", media_type))
            return
        yield el("p", "The body: ", el("code", media_type))
        whole = found(self._document, schema)
        if "anyOf" in whole and "description" in whole:
            yield from prose(whole["description"])
        yield self._list(fields)

    def _refusals_of(self, node: Node) -> Iterator[Html]:
        shared = list[Html]()
        for status, response in node["responses"].items():
            if status >= "300" and "$ref" in response and not self._is_whole:
                self._responses[name_in(response)] = None
                link = el("a", status, href=f"#response-{name_in(response)}", class_="chip bad")
                shared.append(link)
            elif status >= "300":
                yield self._refused(status, found(self._document, response))
        if shared:
            yield el("p", *shared, class_="chips")

    def _refused(self, status: str, response: Node) -> Html:
        errors = self._errors(response)
        told = (el("span", status, class_="chip bad"), " ", response["description"])
        return el("p", *told) if errors is None else el("details", el("summary", *told), errors)

    def _errors(self, response: Node) -> Html | None:
        """Return the texts of refusals, and why each is answered."""
        content = response.get("content", {}).get(JSON)
        if content is None:
            return None
        lines = []
        for example in content["examples"].values():
            shown = found(self._document, example)
            texts = [el("code", shown["value"]["error"])]
            for name, value in shown["value"].items():
                if name not in _EVERY:
                    texts.append(el("code", f"{name}: {json.dumps(value, ensure_ascii=False)}"))
            lines.append(el("tr", el("th", shown["summary"], scope="row"), el("td", *texts)))
        return el("table", *lines, class_="errors")

    # -- The other parts of a page ------------------------------------------------------------------------

    def headers(self) -> Html:
        """Return the table of all headers of answers."""
        headers = self._document["components"]["headers"].items()
        return section(
            "headers",
            "Headers of answers",
            self._list(
                FieldLine(name, each["schema"], each["description"], is_required=True)
                for name, each in headers
            ),
        )

    @property
    def leads_to_refusals(self) -> bool:
        return bool(self._responses)

    def refusals(self) -> Html:
        """Return the refusals that several operations share."""
        articles = []
        for name in self._responses:
            response = self._document["components"]["responses"][name]
            heading = el("h3", response["description"], id=f"response-{name}")
            articles.append(el("article", heading, *filter(None, [self._errors(response)])))
        return section("refusals", "Refusals", *articles)

    def schemas(self) -> Html:
        """Return the schemas that all parts before lead to, and those that these lead to."""
        articles = dict[str, Html]()
        while missing := [name for name in self._schemas if name not in articles]:
            for name in missing:
                articles[name] = self._schema(name, self._document["components"]["schemas"][name])
        return section("schemas", "Schemas", *(articles[name] for name in sorted(articles)))

    def _schema(self, name: str, schema: Node) -> Html:
        content = prose(schema["description"]) if "description" in schema else []
        if "properties" in schema:
            content.append(self._list(_fields_of(schema)))
        else:
            content.append(el("p", *self._type(schema), *_rules(schema)))
        return el("article", el("h3", name, id=f"schema-{name}"), *content)

    # -- Values -------------------------------------------------------------------------------------------

    def _own_fields(self, schema: Node) -> list[FieldLine]:
        """Return the fields of a schema that one operation of the page has alone; none for any other.

        The shapes of such a body may differ in what they require.
        """
        if "$ref" not in schema or self._uses[name_in(schema)] > 1:
            return []
        whole = found(self._document, schema)
        shapes = [found(self._document, each) for each in whole.get("anyOf", [whole])]
        first, *others = [{field.name: field for field in _fields_of(shape)} for shape in shapes]
        if any(other.keys() != first.keys() for other in others):
            return []
        return [
            field._replace(is_required=all(each[name].is_required for each in (first, *others)))
            for name, field in first.items()
        ]

    def _list(self, fields: Iterable[FieldLine]) -> Html:
        parts = []
        for field in fields:
            more: list[str] = [*self._type(field.schema), *_rules(field.schema)]
            if field.place:
                more += [", ", field.place]
            if not field.is_required:
                more.append(", optional")
            parts.append(el("dt", el("code", field.name), " ", el("span", *more, class_="dim")))
            parts.append(el("dd", *inline(field.about)))
        return el("dl", *parts, class_="params")

    def _type(self, schema: Node) -> list[str]:
        """Return the type of a value in words, with links to other schemas."""
        if "$ref" in schema:
            name = name_in(schema)
            self._schemas[name] = None
            return [el("a", name, href=f"#schema-{name}")]
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema and "type" not in schema:
                return [text for either in schema[keyword] for text in (" or ", *self._type(either))][1:]
        if "const" in schema:
            return [el("code", json.dumps(schema["const"]))]
        if "enum" in schema:
            return [text for value in schema["enum"] for text in (", ", el("code", value or "null"))][1:]
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if kinds == ["array"]:
            return ["list of ", *self._type(schema["items"])]
        return [" or ".join(kinds)]


_TEXT: Node = {"type": "string"}
_EVERY = {"success", "error", "status"}
"""The fields of every error."""


def _fields_of(schema: Node) -> Iterator[FieldLine]:
    required = schema.get("required", ())
    for name, each in schema.get("properties", {}).items():
        yield FieldLine(name, each, each.get("description", ""), name in required)


def _samples(sample: SampleRequest) -> Html:
    """Return a sample in each language. The labels choose one as the radio buttons of the page do."""
    labels = [el("label", name, for_=f"in-{language}") for language, (name, _) in LANGUAGES.items()]
    return el(
        "div",
        el("header", el("span", *labels, aria_hidden="true")),
        *(
            el("pre", el("code", write(sample)), class_=f"in-{language}")
            for language, (_, write) in LANGUAGES.items()
        ),
        class_="block samples",
    )


def _folded(example: ShownExample) -> Html:
    return el("details", el("summary", example.summary), el("pre", el("code", example.text)))


def _successful(node: Node) -> list[tuple[str, Node]]:
    return [(status, response) for status, response in node["responses"].items() if status < "300"]


_RULES: Mapping[str, str] = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "pattern": "like {}",
    "default": "{} if left out",
}


def _rules(schema: Node) -> Iterable[str]:
    """Yield the bounds of a value, and of the items of a list or the parts of an alternative."""
    rules = [
        text.format(json.dumps(schema[keyword]) if keyword == "default" else _number(schema[keyword]))
        for keyword, text in _RULES.items()
        if keyword in schema and (keyword != "pattern" or len(schema["pattern"]) <= LONGEST_PATTERN)
    ]
    if schema.get("uniqueItems"):
        rules.append("none twice")
    if rules:
        yield ", " + ", ".join(rules)
    for part in [schema["items"]] if "items" in schema else schema.get("anyOf", ()):
        yield from _rules(part)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
