"""The builder of the brand and of the templates, from the section `site` of the settings. No logic.

It is imported only if the gateway serves pages.
"""

from dataclasses import dataclass

from settings.model import SiteSettings
from settings.site_values import SiteText
from web.brand import DEFAULT_ACCENT, PROGRAM, Brand, FooterLink, fill_of
from web.brand_files import BrandFiles
from web.logo_icons import logo_icons
from web.markdown import Markdown
from web.templates import Templates

TERMS, PRIVACY = "/terms", "/privacy"


@dataclass(frozen=True)
class PageDrawing:
    """The templates and the look of all pages of a gateway."""

    templates: Templates
    markdown: Markdown
    brand: Brand
    files: BrandFiles


def page_drawing(site: SiteSettings) -> PageDrawing:
    files = BrandFiles(site.name, site.tagline or "", site.logo, site.accent)
    if site.logo is not None:
        logo_icons(site.logo)  # now: it holds the interpreter, for longer than pages may wait
    brand = Brand(
        name=site.name,
        tagline=site.tagline or "",
        fill=fill_of(site.accent or DEFAULT_ACCENT),
        accent=site.accent,
        style=files.style,
        logo=files.logo,
        icon=files.icon,
        contact=site.contact or "",
        links=tuple(FooterLink(each.text, each.url) for each in site.links),
        terms=_address(site.terms, TERMS),
        privacy=_address(site.privacy, PRIVACY),
        languages=site.languages,
        is_powered_by=site.powered_by and site.name != PROGRAM,
    )
    return PageDrawing(Templates(), Markdown(), brand, files)


def _address(text: SiteText | None, page: str) -> str:
    """Return the address of a text of the owner: elsewhere, or our page."""
    if text is None:
        return ""
    return text.url or page
