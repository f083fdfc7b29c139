"""chatplatform/answers.py: the time in an id, and addresses of pictures."""

from chatplatform.answers import (
    PlatformApplication,
    PlatformServer,
    application_icon_url,
    avatar_url,
    created_ms,
    server_icon_url,
)
from tests.support.sample_rows import USER

CDN, HASH = "https://cdn.example", "8342729096ea3675442027381ff50dfe"


def test_a_picture_has_an_address_of_id_and_hash() -> None:
    assert avatar_url(CDN, USER, HASH) == f"{CDN}/avatars/{USER}/{HASH}.png?size=128"
    icon = application_icon_url(CDN, PlatformApplication(USER, "Baba", icon=HASH))
    assert icon == f"{CDN}/app-icons/{USER}/{HASH}.png?size=128"
    assert (
        server_icon_url(CDN, PlatformServer(USER, "Krew", icon=HASH))
        == f"{CDN}/icons/{USER}/{HASH}.png?size=128"
    )


def test_a_user_without_a_picture_has_one_of_the_platforms_and_the_others_have_none() -> None:
    assert avatar_url(CDN, "175928847299117063", None) == f"{CDN}/embed/avatars/2.png"
    assert application_icon_url(CDN, PlatformApplication(USER, "Baba")) is None
    assert server_icon_url(CDN, PlatformServer(USER, "Krew")) is None


def test_an_id_holds_the_time_at_which_it_was_made() -> None:
    assert created_ms("175928847299117063") == 1_462_015_105_796  # the example of the platform's reference
