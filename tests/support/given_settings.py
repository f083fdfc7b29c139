"""Settings as a test gives them, and the mistakes in them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from settings.model import Settings, SettingsError, load_settings

TOKEN = "a-token-that-is-secret"
DIGEST_SECRET = "a-digest-secret-of-the-right-length"
PREVIOUS_TOKEN = "the-token-before-this-one"
SEALING_KEY = "A" * 43 + "="
OTHER_SEALING_KEY = "B" * 42 + "A="
PROXY = "socks5://user:a-password-that-is-secret@proxy.example:1080"
REDIS = "rediss://user@redis.example:6380/0"
REDIS_PASSWORD = "another-password-that-is-secret"
AUTHORIZATION = "an-authorization-that-is-secret"
CLIENT_SECRET = "a-client-secret-that-is-secret"
BOT_TOKEN = "a-bot-token-that-is-secret"
MAIL_PASSWORD = "a-mail-password-that-is-secret"
GIVEN_SECRETS = {
    "operator.token": TOKEN,
    "keys.digest_secret": DIGEST_SECRET,
    "guild_counts.authorization": AUTHORIZATION,
    "operator.previous_token": PREVIOUS_TOKEN,
    "sealing.keys": SEALING_KEY,
    "webhooks.proxy": PROXY,
    "redis.url": REDIS,
    "redis.password": REDIS_PASSWORD,
    "chat_platform.client_secret": CLIENT_SECRET,
    "chat_platform.bot_token": BOT_TOKEN,
    "mail.password": MAIL_PASSWORD,
}
SITE = {"web.public_url": "https://bots.example", "chat_platform.client_id": "900000000000000001"}
NEEDED_BESIDE = {
    "redis.url": {"redis.node": "paris"},
    "chat_platform.bot_token": {**SITE, "chat_platform.client_secret": CLIENT_SECRET},
}
"""The settings that a secret needs beside it."""


def from_file(folder: Path, text: str, environment: Mapping[str, str] | None = None) -> Settings:
    config = folder / "config.yaml"
    config.write_text(text)
    return load_settings(config, environment or {}, {})


def from_environment(values: Mapping[str, str]) -> Settings:
    """`values` are named like "server.port", or "operator.token_file"."""
    environment = {f"VOTEGATE_{name.upper().replace('.', '__')}": value for name, value in values.items()}
    return load_settings(None, environment, {})


def mistakes(
    config: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> list[str]:
    with pytest.raises(SettingsError) as raised:
        load_settings(config, environment or {}, flags or {})
    return str(raised.value).splitlines()


def mistakes_in(folder: Path, yaml_text: str) -> list[str]:
    config = folder / "config.yaml"
    config.write_text(yaml_text)
    return mistakes(config)


def leaves(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(name, value) of every setting."""
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
