"""Fixtures of tests of people's pages: a gateway, a site with the sign-in alone, and their visitors."""

from tests.support.people_fixtures import ada, cleo, gateway, settings, shared_site, site, visitor

__all__ = ["ada", "cleo", "gateway", "settings", "shared_site", "site", "visitor"]
