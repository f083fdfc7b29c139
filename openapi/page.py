"""The OpenAPI document as one HTML page. Invariant: it needs nothing but itself, and text is never markup.

No script, no other file: the style is in the page, and the page's policy lets the browser use nothing else.
Elements are built by `_el`, which escapes every text that is not an element already.
"""

import base64
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from handlers.reply import KEPT_BRIEFLY, Reply
from openapi.deployment import Deployment
from openapi.document import openapi_document

Node = Mapping[str, Any]
LONGEST_PATTERN = 48  # longer ones are for programs; the description says it for people

_WEBHOOKS = {
    "vote": ("webhook", "The vote webhook"),
    "listingEvent": ("other-webhooks", "Webhooks of other events"),
}
"""The anchor and the title of each."""


class _Html(str):
    """Text that is markup already."""

    __slots__ = ()


@functools.cache
def docs_reply(deployment: Deployment, style: str, *, has_site: bool = False) -> Reply:
    """Return the answer of `GET /docs`.

    Args:
        style: the style of all pages.
        has_site: true to lead back to the site.
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    headers = {
        "content-security-policy": f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
        **KEPT_BRIEFLY,
    }
    content = page(openapi_document(deployment), style, has_site=has_site).encode()
    return Reply(200, content, headers, content_type="text/html; charset=utf-8")


def page(document: Node, style: str = "", *, has_site: bool = False) -> str:
    info, components = document["info"], document["components"]
    head = _el(
        "head",
        _el("meta", charset="utf-8"),
        _el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        _el("title", f"{info['title']} API {info['version']}"),
        _Html(f"<style>{style}</style>"),
    )
    home = {"href": "/"} if has_site else {}
    name = _el("a" if has_site else "span", info["title"], class_="brand", **home)
    more = _el("a", "OpenAPI 3.1", href="openapi.json", class_="button small end")
    content = (
        _el("h1", "API ", _el("span", info["version"], class_="dim")),
        *_prose(info["description"]),
        *(_tag_section(document, tag) for tag in document["tags"]),
        *(
            _section(anchor, title, *_operation(document, document["webhooks"][name]["post"]))
            for name, (anchor, title) in _WEBHOOKS.items()
        ),
        _section(
            "refusals", "Refusals", *(_refusal(document, *item) for item in components["responses"].items())
        ),
        _section("schemas", "Schemas", *(_schema(*item) for item in components["schemas"].items())),
    )
    body = _el(
        "body",
        _el("a", "Skip to the content", href="#main", class_="skip"),
        _el("header", name, more, class_="top"),
        _el("main", _contents(document), _el("div", *content), id="main", class_="docs", tabindex="-1"),
    )
    return "<!doctype html>" + _el("html", head, body, lang="en")


def _el(name: str, /, *children: str, **attributes: str) -> _Html:
    given = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    if name == "meta":
        return _Html(f"<{name}{given}>")
    inside = "".join(child if isinstance(child, _Html) else escape(child) for child in children)
    return _Html(f"<{name}{given}>{inside}</{name}>")


def _section(anchor: str, title: str, *content: _Html) -> _Html:
    return _el("section", _el("h2", title, id=anchor), *content)


def _prose(text: str) -> list[_Html]:
    """Return paragraphs with `code` and **bold**, the Markdown of the document."""
    return [_el("p", *_inline(" ".join(part.split()))) for part in text.split("\n\n")]


def _inline(text: str) -> Iterable[str]:
    for piece in re.split(r"(`[^`]+`|\*\*[^*]+\*\*)", text):
        if piece.startswith("`"):
            yield _el("code", piece[1:-1])
        elif piece.startswith("**"):
            yield _el("strong", piece[2:-2])
        else:
            yield piece


def _operations(document: Node, tag: str) -> Iterable[tuple[str, str, Node]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if tag in operation["tags"]:
                yield method.upper(), path, operation


def _contents(document: Node) -> _Html:
    lists = []
    for tag in document["tags"]:
        links = [
            _el("li", _el("a", operation["summary"], href=f"#{operation['operationId']}"))
            for _, _, operation in _operations(document, tag["name"])
        ]
        lists.append(_el("details", _el("summary", tag["name"]), _el("ul", *links, class_="plain")))
    rest = {
        **{f"#{anchor}": title for anchor, title in _WEBHOOKS.values()},
        "#refusals": "Refusals",
        "#schemas": "Schemas",
    }
    links = [_el("li", _el("a", text, href=target)) for target, text in rest.items()]
    contents = _el("nav", *lists, _el("ul", *links, class_="plain"), class_="toc", id="contents")
    summary = _el("summary", "Contents", class_="button")
    return _el("details", summary, _el("div", contents), class_="filters")


def _tag_section(document: Node, tag: Node) -> _Html:
    articles = [
        _el(
            "article",
            _el("h3", operation["summary"], id=operation["operationId"]),
            _el("p", _el("code", f"{method} {path}")),
            *_operation(document, operation),
        )
        for method, path, operation in _operations(document, tag["name"])
    ]
    return _section(tag["name"].lower(), tag["name"], *_prose(tag["description"]), *articles)


def _operation(document: Node, operation: Node) -> Iterable[_Html]:
    yield from _prose(operation["description"])
    schemes = document["components"]["securitySchemes"]
    for name in (name for either in operation["security"] for name in either):
        yield _el("p", _el("strong", "Authorization: "), *_inline(schemes[name]["description"]))
    parameters = [_found(document, parameter) for parameter in operation.get("parameters", ())]
    if parameters:
        yield _table(
            (
                parameter["name"],
                parameter["schema"],
                f"In the {parameter['in']}. {parameter['description']}",
                True,
            )
            for parameter in parameters
        )
    if "requestBody" in operation:
        yield _el("p", _el("strong", "Body"))
        yield from _content(document, operation["requestBody"])
    for status, response in operation["responses"].items():
        if "$ref" in response:
            shared = _el("a", status, href=f"#response-{response['$ref'].rpartition('/')[2]}")
            yield _el("p", shared, " ", _found(document, response)["description"])
        else:
            title = _el("summary", _el("strong", status), " ", response["description"])
            yield _el("details", title, *_response(document, response))


def _refusal(document: Node, name: str, response: Node) -> _Html:
    heading = _el("h3", response["description"], id=f"response-{name}")
    return _el("article", heading, *_response(document, response))


def _response(document: Node, response: Node) -> Iterable[_Html]:
    names = [text for name in response.get("headers", ()) for text in (", ", _el("code", name))][1:]
    if names:
        yield _el("p", "Headers: ", *names)
    yield from _content(document, response)


def _content(document: Node, holder: Node) -> Iterable[_Html]:
    for media_type, media in holder.get("content", {}).items():
        yield _el("p", _el("code", media_type), " ", *(_type(media["schema"]) if "schema" in media else ()))
        for example in media.get("examples", {}).values():
            found = _found(document, example)
            shown = json.dumps(found["value"], indent=2, ensure_ascii=False)
            yield _el("details", _el("summary", found["summary"]), _el("pre", _el("code", shown)))


def _schema(name: str, schema: Node) -> _Html:
    content: list[_Html] = []
    if "description" in schema:
        content += _prose(schema["description"])
    if "properties" in schema:
        required = schema.get("required", ())
        content.append(
            _table(
                (field, of, of.get("description", ""), field in required)
                for field, of in schema["properties"].items()
            )
        )
    else:
        content.append(_el("p", *_type(schema)))
    return _el("article", _el("h3", name, id=f"schema-{name}"), *content)


def _table(rows: Iterable[tuple[str, Node, str, bool]]) -> _Html:
    return _el(
        "table",
        *(
            _el(
                "tr",
                _el("th", _el("code", name), "" if required else " (optional)", scope="row"),
                _el("td", *_type(schema), *_rules(schema)),
                _el("td", *_inline(description)),
            )
            for name, schema, description, required in rows
        ),
    )


def _type(schema: Node) -> list[str]:
    """Return the kind of a value in words, with links to other schemas."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return [_el("a", name, href=f"#schema-{name}")]
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema and "type" not in schema:
            return [text for either in schema[keyword] for text in (" or ", *_type(either))][1:]
    if "const" in schema:
        return [_el("code", json.dumps(schema["const"]))]
    if "enum" in schema:
        return [text for value in schema["enum"] for text in (", ", _el("code", value or "null"))][1:]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if kinds == ["array"]:
        return ["list of ", *_type(schema["items"])]
    return [" or ".join(kinds)]


_RULES = {
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
        text.format(json.dumps(schema[keyword]) if keyword == "default" else schema[keyword])
        for keyword, text in _RULES.items()
        if keyword in schema and (keyword != "pattern" or len(schema["pattern"]) <= LONGEST_PATTERN)
    ]
    if schema.get("uniqueItems"):
        rules.append("none twice")
    if rules:
        yield _el("span", "; ", ", ".join(rules), class_="rule")
    for part in [schema["items"]] if "items" in schema else schema.get("anyOf", ()):
        yield from _rules(part)


def _found(document: Node, node: Node) -> Node:
    """Return the node that a reference within the document points at, or the node itself."""
    if "$ref" not in node:
        return node
    found: Any = document
    for step in node["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    named: Node = found
    return named
