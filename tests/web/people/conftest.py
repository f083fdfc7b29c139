"""What tests of people's pages share: a whole gateway, a site of the sign-in alone, and who visits them."""

from tests.support.people_fixtures import ada, cleo, gateway, settings, shared_site, site, visitor

__all__ = ["ada", "cleo", "gateway", "settings", "shared_site", "site", "visitor"]
