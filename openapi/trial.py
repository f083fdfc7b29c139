"""The form that sends a request from the page: "Try it". Invariant: no field of it has a name, so no browser
can send the form itself, nor write its values into an address.

`web/static/docs.js` sends the request. Without script, the form is hidden.
"""

from collections.abc import Iterator

from openapi.elements import Html, el, icon
from openapi.lookup import Node, found


def trial(document: Node, method: str, path: str, operation: Node, *, icons: str = "") -> Html:
    """Return the form of an operation that takes an API key."""
    name = operation["operationId"]
    limits = [header for header in document["components"]["headers"] if header.startswith(_SHOWN)]
    about = document["components"]["headers"]
    answer = el(
        "div",
        el("p", el("span", class_="chip"), " ", el("span"), class_="told"),
        el("pre", el("code")),
        el(
            "dl",
            *(
                part
                for header in limits
                for part in (
                    el("dt", el("code", header), " ", el("b"), data_header=header),
                    el("dd", about[header]["description"]),
                )
            ),
            class_="params",
        ),
        class_="answer",
        hidden="",
    )
    form = el(
        "form",
        el("p", f"This sends a real request to this gateway. {_EFFECT[method]}", class_="hint"),
        *_fields(document, name, operation),
        el("button", "Send", class_="button"),
        autocomplete="off",
        data_method=method,
        data_path=path,
    )
    return el(
        "details",
        el("summary", "Try it ", icon(icons, "next")),
        form,
        el("div", answer, role="status"),
        class_="more try by-script",
    )


_SHOWN = ("ratelimit-", "retry-after", "x-request-id")
"""The beginnings of the headers that are shown with an answer."""
_EFFECT = {
    "GET": "It counts against the limit of the bot.",
    "PATCH": "It changes the counts of the bot, and counts against its limit.",
}


def _fields(document: Node, name: str, operation: Node) -> Iterator[Html]:
    scheme = document["components"]["securitySchemes"]["apiKey"]
    yield _field(
        f"{name}-key",
        "API key",
        "It stays in the memory of this page.",
        class_="secret",
        required="",
        pattern="[!-~]+",
        title=scheme["description"],
        data_key="",
    )
    for parameter in operation["parameters"]:
        each = found(document, parameter)
        schema = found(document, each["schema"])
        yield _field(
            f"{name}-{each['name']}",
            each["description"].rstrip("."),
            "",
            required="",
            inputmode="numeric",
            pattern=schema["pattern"].strip("^$"),
            placeholder=each["example"],
            data_in=each["name"],
        )
    for media in operation.get("requestBody", {"content": {}})["content"].values():
        schema = found(document, media["schema"])
        shape = found(document, schema.get("anyOf", [schema])[0])
        for field, each in shape["properties"].items():
            yield _field(
                f"{name}-{field}",
                field,
                each["description"],
                type="number",
                min=str(each["minimum"]),
                max=str(each["maximum"]),
                data_field=field,
            )


def _field(id: str, label: str, hint: str, **attributes: str) -> Html:
    given = {
        "type": "text",
        "spellcheck": "false",
        "autocapitalize": "off",
        "autocomplete": "off",
        **attributes,
    }
    hinted = {"aria_describedby": f"{id}-hint"} if hint else {}
    return el(
        "div",
        el("label", label, for_=id),
        *([el("p", hint, class_="hint", id=f"{id}-hint")] if hint else ()),
        el("input", id=id, **{**given, **attributes, **hinted}),
        class_="field",
    )
