"""settings/sources.py: the address of a gateway, read without validation, is that of the valid settings."""

from pathlib import Path

import pytest

from settings.model import Settings
from settings.sources import FoundSettings, SourceUnreadable, found_settings


def found(**environment: str) -> FoundSettings:
    return found_settings(None, {f"VOTEGATE_{name}": value for name, value in environment.items()}, None)


def test_the_defaults_are_those_of_the_settings() -> None:
    settings = Settings()
    url = f"http://{settings.server.address}:{settings.server.port}"
    assert found() == FoundSettings(url, None, settings.data_dir, None)


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({"SERVER__PORT": "9000"}, "http://127.0.0.1:9000"),
        ({"SERVER__ADDRESS": "0.0.0.0"}, "http://127.0.0.1:8080"),
        ({"SERVER__ADDRESS": "::"}, "http://[::1]:8080"),
        ({"SERVER__ADDRESS": "gateway.example"}, "http://gateway.example:8080"),
        ({"SERVER__UNIX_SOCKET": "/run/votegate.sock", "SERVER__PORT": "1"}, "unix:/run/votegate.sock"),
    ],
)
def test_the_address_is_one_that_can_be_called(environment: dict[str, str], url: str) -> None:
    assert found(**environment).url == url


def test_a_certificate_means_tls() -> None:
    tls = found(SERVER__TLS__CERTIFICATE="gateway.pem")
    assert (tls.url, tls.certificate) == ("https://127.0.0.1:8080", Path("gateway.pem"))


def test_a_flag_goes_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("data_dir: of-the-file\nserver: {port: 1}\noperator: {token: a-token-of-the-file}\n")
    environment = {"VOTEGATE_DATA_DIR": "of-the-environment"}
    assert found_settings(config, {}, None) == FoundSettings(
        "http://127.0.0.1:1", None, Path("of-the-file"), "a-token-of-the-file"
    )
    assert found_settings(config, environment, None).data_dir == Path("of-the-environment")
    assert found_settings(config, environment, Path("of-the-flag")).data_dir == Path("of-the-flag")


@pytest.mark.parametrize("content", ["[]", "server: 1", "operator: x", "server: {tls: 5}", "a: : b"])
def test_a_file_that_is_no_tree_of_settings_is_told(tmp_path: Path, content: str) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(content)
    with pytest.raises(SourceUnreadable):
        found_settings(config, {}, None)
