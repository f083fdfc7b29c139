"""The pages of the documents: the API for bots, the management API, and the guide. Invariant: they can be
read without script.

Each is made of the OpenAPI document, or of a text, and is the same for everybody. On a gateway with a site,
it loads the style, the icons and one script from there, under the policy of the site. Without a site, the
style is in the page, and its policy lets the browser use nothing else.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from handlers.gzip_body import packed
from handlers.reply import KEPT_BRIEFLY, Reply
from handlers.routes import DOCUMENTS, GUIDE, MANAGEMENT, REFERENCE
from openapi.elements import Html, el, icon, prose, section
from openapi.guide import Guide
from openapi.lookup import Node
from openapi.reference import Reference, operations
from openapi.samples import LANGUAGES
from openapi.trial import trial

FOR_BOTS = ("Public",)
"""The tags of bot developers. All others are those of the management API."""
_WEBHOOKS = {
    "vote": ("webhook", "The vote webhook"),
    "listingEvent": ("other-webhooks", "Webhooks of other events"),
}
"""The anchor and the title of each."""
Contents = Sequence[tuple[str, Sequence[tuple[str, str]]]]
"""The headings of a page and the links below each: address and text."""


@dataclass(frozen=True)
class PageFrame:
    """The parts around the content of each page.

    Args:
        name: the name of the platform.
        home: the address of the site; empty without pages for people.
        url: the address of the gateway; empty if it is not known.
        headers: the headers of the site's pages; none without a site.
        styles: the addresses of the stylesheets of the site.
        style: the style, if there is no site to load it from.
        script: the address of the script.
        icons: the address of the icons.
        icon: the address of the picture for the browser's tab.
        logo: the address of the owner's logo.
        look: the look that the visitor chose on the site; None to follow the system.
    """

    name: str
    home: str = ""
    url: str = ""
    headers: Mapping[str, str] | None = None
    styles: tuple[str, ...] = ()
    style: str = ""
    script: str = ""
    icons: str = ""
    icon: str = ""
    logo: str = ""
    look: str | None = None


def page_reply(frame: PageFrame, content: str, *, is_packed: bool) -> Reply:
    """Return the answer with a page, packed or not. It may be kept by every cache."""
    if frame.headers is not None:
        headers = {**frame.headers, "vary": "Accept-Encoding, Cookie"}  # the look is in a cookie
    else:
        digest = base64.b64encode(hashlib.sha256(frame.style.encode()).digest()).decode()
        headers = {
            "content-security-policy": f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'",
            "x-content-type-options": "nosniff",
            "vary": "Accept-Encoding",
        }
    body = content.encode()
    if is_packed:
        headers["content-encoding"] = "gzip"
        body = packed(body)
    return Reply(200, body, {**headers, **KEPT_BRIEFLY}, content_type="text/html; charset=utf-8")


def bots_page(document: Node, frame: PageFrame) -> str:
    """Return the page of the API for bots."""
    shown = [operation for tag in FOR_BOTS for operation in operations(document, tag)]
    form = partial(trial, icons=frame.icons) if frame.script else None
    reference = Reference(document, shown, is_whole=True, trial=form)
    calls = [reference.call(operation) for operation in shown]
    hooks = {name: document["webhooks"][name]["post"] for name in _WEBHOOKS}
    webhooks = [
        section(anchor, title, *reference.webhook(hooks[name])) for name, (anchor, title) in _WEBHOOKS.items()
    ]
    lead = (
        "Two requests and a webhook: push your bot's counts, ask whether a user has voted, and receive each "
        "vote as it happens."
    )
    return _page(
        frame,
        REFERENCE,
        [
            ("Requests", [(f"#{each.id}", each.node["summary"]) for each in shown]),
            ("Webhooks", [(f"#{anchor}", title) for anchor, title in _WEBHOOKS.values()]),
            ("All requests", [each for each in _RULES if each[0] != "#refusals"]),
        ],
        (
            _title("API for bots", document),
            el("p", lead, class_="lead"),
            el(
                "p",
                "New here? The ",
                el("a", "guide", href=GUIDE),
                " leads to the first reward. Its clients wait and try again for you.",
            ),
            *_before(frame, "API_KEY", "an API key of your bot"),
            section("requests", "Requests", *calls),
            *webhooks,
            *_rules(document, reference),
        ),
    )


def management_page(document: Node, frame: PageFrame) -> str:
    """Return the page of the management API."""
    tags = [tag for tag in document["tags"] if tag["name"] not in FOR_BOTS]
    shown = {tag["name"]: [*operations(document, tag["name"])] for tag in tags}
    every = [operation for of_tag in shown.values() for operation in of_tag]
    reference = Reference(document, every, is_whole=False)
    sections = [
        section(
            tag["name"].lower(),
            tag["name"],
            *prose(tag["description"]),
            *(reference.call(operation) for operation in shown[tag["name"]]),
        )
        for tag in tags
        if shown[tag["name"]]
    ]
    return _page(
        frame,
        MANAGEMENT,
        [
            *(
                (name, [(f"#{each.id}", each.node["summary"]) for each in of_tag])
                for name, of_tag in shown.items()
                if of_tag
            ),
            ("All requests", _RULES),
        ],
        (
            _title("Management API", document),
            el("p", "For the platform's operators and their programs.", class_="lead"),
            _filter(len(every)),
            *_before(frame, "OPERATOR_TOKEN", "the operator token"),
            *sections,
            *_rules(document, reference),
        ),
    )


_RULES = (
    ("#rules", "Keys, limits, errors"),
    ("#headers", "Headers of answers"),
    ("#refusals", "Refusals"),
    ("#schemas", "Schemas"),
)


def _rules(document: Node, reference: Reference) -> Iterable[Html]:
    """Return the sections that hold for all operations. Schemas come last: the others lead to them."""
    yield section("rules", "Keys, limits, errors", *prose(document["info"]["description"]))
    yield reference.headers()
    if reference.leads_to_refusals:
        yield reference.refusals()
    yield reference.schemas()


def text_page(path: str, guide: Guide, frame: PageFrame) -> str:
    """Return the page of a text."""
    content = (el("h1", guide.title), guide.content)
    return _page(frame, path, [("On this page", guide.headings)], [el("div", *content, class_="prose")])


def _title(title: str, document: Node) -> Html:
    return el("h1", title, " ", el("span", document["info"]["version"], class_="dim"))


def _before(frame: PageFrame, secret: str, about: str) -> Iterable[Html]:
    """Yield what samples take from the environment, and the choice of their language.

    The labels of each sample name the same radio buttons, so a button says its own name.
    """
    yield el(
        "p",
        "Samples read two variables of the environment: ",
        el("code", "API"),
        ", the address of this gateway",
        *([" (", el("code", frame.url), ")"] if frame.url else ()),
        ", and ",
        el("code", secret),
        f", {about}.",
    )
    choices: list[Html] = []
    for language, (name, _) in LANGUAGES.items():
        checked = {"checked": ""} if not choices else {}
        button = el("input", type="radio", name="language", id=f"in-{language}", aria_label=name, **checked)
        choices.append(el("label", button, name))
    legend = el("legend", "Language of the samples", class_="hidden")
    yield el("fieldset", legend, *choices, class_="segment")


def _filter(count: int) -> Html:
    field = el(
        "div",
        el("label", "Filter by words, path or method", for_="filter"),
        el("input", id="filter", type="search", autocomplete="off", spellcheck="false"),
        el("p", f"{count} requests", class_="hint", id="shown", role="status"),
        class_="field",
    )
    return el("div", field, class_="by-script gap", role="search")


def _page(frame: PageFrame, path: str, contents: Contents, content: Iterable[Html]) -> str:
    titles = {each.path: each.title for each in DOCUMENTS}
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content=frame.look or "light dark"),
        el("title", f"{titles[path]} · {frame.name}"),
        *([el("link", rel="icon", href=frame.icon)] if frame.icon else ()),
        *(el("link", rel="stylesheet", href=style) for style in frame.styles),
        *([Html(f"<style>{frame.style}</style>")] if frame.style else ()),
        *([el("script", src=frame.script, defer="")] if frame.script else ()),
    )
    others = [
        el("li", el("a", title, href=address, **({"aria_current": "page"} if address == path else {})))
        for address, title in titles.items()
    ]
    body = el(
        "body",
        el("a", "Skip to the content", href="#main", class_="skip"),
        el(
            "header",
            _brand(frame),
            el("a", "OpenAPI 3.1", href="/openapi.json", class_="button small end"),
            class_="top",
        ),
        el(
            "main",
            el("nav", el("ul", *others, class_="plain"), class_="tabs", aria_label="Documents"),
            el("div", _contents(contents, icons=frame.icons), el("div", *content), class_="docs"),
            id="main",
            tabindex="-1",
        ),
        el("p", id="said", role="status", class_="hidden"),
    )
    look = {"data_look": frame.look} if frame.look else {}
    return "<!doctype html>" + el("html", head, body, lang="en", **look)


def _brand(frame: PageFrame) -> Html:
    sign = icon(frame.icons, "mark", "mark")
    if frame.logo:
        sign = el("img", class_="mark", src=frame.logo, alt="")
    name = el("span", frame.name, class_="two", dir="auto")
    if not frame.home:
        return el("span", sign, name, class_="brand")
    return el("a", sign, name, class_="brand", href=frame.home)


def _contents(contents: Contents, *, icons: str) -> Html:
    """Return the links to the parts of a page. One of several lists is folded if it is long."""
    parts: list[Html] = []
    for title, links in contents:
        listed = el("ul", *(el("li", el("a", text, href=target)) for target, text in links), class_="plain")
        is_folded = len(contents) > 1 and len(links) > MOST_LINKS
        folded = el("details", el("summary", title), listed)
        parts.append(folded if is_folded else el("div", el("h2", title), listed))
    nav = el("nav", *parts, class_="toc", aria_label="Contents")
    summary = el("summary", icon(icons, "list"), "Contents", class_="button whole")
    return el("details", summary, el("div", nav), class_="filters")


MOST_LINKS = 8
"""The links below a heading that are shown. More are folded."""
PAGES: Mapping[str, Callable[[Node, PageFrame], str]] = {REFERENCE: bots_page, MANAGEMENT: management_page}
"""The functions that return the pages of the document, by path."""
