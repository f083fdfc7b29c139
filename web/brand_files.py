"""The files of a brand: its stylesheet, its logo, its icons, and the web manifest.

The addresses of the stylesheet and of the logo have the digests of their files (static_files.py). Icons have
fixed addresses, so browsers keep them for a day. They are drawn once, in a thread, at the first request.
"""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from grammars.accents import colour_of
from grammars.colours import read_colour, written
from grammars.logos import Logo, read_logo
from handlers.late import Late
from handlers.reply import Reply, encode_json
from handlers.request import Request
from handlers.route import PAGE, AnswerKeeping, Resource
from web.brand import DEFAULT_ACCENT, fill_of
from web.logo_icons import LARGE_SIDES, logo_icons
from web.pages import tagged
from web.static_files import FOLDER, StaticFile, address_of, static_file

MARK = "icon.svg"
LOGO_NAMES = {"image/svg+xml": "logo.svg", "image/png": "logo.png"}
FAVICON, TOUCH_ICON, MANIFEST = "/favicon.ico", "/apple-touch-icon.png", "/manifest.webmanifest"
LARGE_ICON = "/icon-{side}.png"
KEPT_A_DAY = {"cache-control": "public, max-age=86400", "x-content-type-options": "nosniff"}


def accent_style(accent: str | None) -> str:
    """Return the stylesheet that replaces the accent of `site.css`."""
    return f":root {{ --accent: {accent}; }}\n" if accent is not None else ""


class _Served(NamedTuple):
    content: bytes
    content_type: str


class BrandFiles:
    """The files of one brand.

    Args:
        name: the name of the platform.
        accent: the owner's accent, as `#rrggbb`.
    """

    def __init__(
        self, name: str = "", tagline: str = "", logo: Logo | None = None, accent: str | None = None
    ) -> None:
        self._name, self._tagline, self._logo = name, tagline, logo
        self._accent = accent or DEFAULT_ACCENT
        self._fill = fill_of(self._accent)
        self.static: dict[str, StaticFile] = {}
        """The files whose addresses have their digests, by name."""
        self.style = self._kept("accent.css", accent_style(accent).encode()) if accent else ""
        self.logo = self._kept(LOGO_NAMES[logo.media_type], logo.content) if logo is not None else ""
        self.icon = self.logo or (self._kept("mark.svg", self._mark().content) if accent else "")
        self._fixed = Late(self._made)

    def resources(self) -> list[Resource]:
        """Return the paths of the icons and of the manifest."""
        paths = [FAVICON, TOUCH_ICON, MANIFEST, *(LARGE_ICON.format(side=side) for side in LARGE_SIDES)]
        return [
            Resource(path, {"GET": partial(self._serve, path)}, names={"GET": PAGE}, keeping=AnswerKeeping())
            for path in paths
        ]

    async def _serve(self, path: str, request: Request) -> Reply:
        served = (await self._fixed.get())[path]
        return tagged(request, served.content, KEPT_A_DAY, served.content_type)

    def _kept(self, name: str, content: bytes) -> str:
        self.static[name] = static_file(name, content)
        return address_of(name, self.static[name])

    def _mark(self) -> Logo:
        """Return the logo of Votegate in the owner's colour. Blocking."""
        drawn = (FOLDER / MARK).read_text("utf-8").replace(DEFAULT_ACCENT, self._fill)
        return read_logo(drawn.encode())

    def _made(self) -> Mapping[str, _Served]:
        """Make the files with fixed addresses. Blocking."""
        icons = logo_icons(self._logo or self._mark())
        large = {LARGE_ICON.format(side=side): _Served(png, "image/png") for side, png in icons.large.items()}
        return {
            FAVICON: _Served(icons.ico, "image/x-icon"),
            TOUCH_ICON: _Served(icons.touch, "image/png"),
            MANIFEST: _Served(encode_json(self._manifest()), "application/manifest+json"),
            **large,
        }

    def _manifest(self) -> Mapping[str, object]:
        """Return the web manifest (https://www.w3.org/TR/appmanifest/)."""
        icons = [
            {"src": LARGE_ICON.format(side=side), "sizes": f"{side}x{side}", "type": "image/png"}
            for side in LARGE_SIDES
        ]
        return {
            "name": self._name,
            "short_name": self._name,
            **({"description": self._tagline} if self._tagline else {}),
            "id": "/",
            "start_url": "/",
            "scope": "/",
            "display": "minimal-ui",
            "background_color": written(colour_of("ground", "light", read_colour(self._accent))),
            "theme_color": self._fill,
            "icons": icons,
        }
