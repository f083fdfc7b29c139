"""The face of the platform, as its owner sets it. Invariant: pages, messages and documents name the platform
by this alone."""

from msgspec import Struct


class Brand(Struct, frozen=True):
    """The name of the platform and what stands around its pages."""

    name: str = "Votegate"


DEFAULT_BRAND = Brand()
"""The face of a platform without settings of its own."""
