"""grammars/social_links.py: a link that has the name of a known platform is on its own host."""

import pytest

from grammars.social_links import PLATFORMS, platform_on, pretends


@pytest.mark.parametrize("host", [host for each in PLATFORMS for host in each.hosts])
def test_a_platform_is_on_its_hosts_and_below_them(host: str) -> None:
    for each in (host, f"www.{host}"):
        assert pretends(f"https://{each}/ada") is None
        found = platform_on(each)
        assert found is not None
        assert host in found.hosts


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com.evil.example/ada",
        "https://g1thub.com/ada",
        "https://GITHUB.example",
        "https://login-instagram.example",
        "https://tw1tter.com",
        "https://steamcommunity.ru.example",
    ],
)
def test_a_link_that_pretends_to_be_on_a_platform_is_refused(url: str) -> None:
    fault = pretends(url)
    assert fault is not None
    assert fault.code == "link_elsewhere"
    assert fault.facts["host"] in {host for each in PLATFORMS for host in each.hosts}


@pytest.mark.parametrize("url", ["https://ada.example", "https://x.example/github", "https://notgithub.com"])
def test_a_link_elsewhere_is_a_link(url: str) -> None:
    assert pretends(url) is None
    assert platform_on(url.split("/")[2]) is None
