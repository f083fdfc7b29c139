"""The OpenAPI document."""

from typing import Any


def openapi_document() -> dict[str, Any]:
    return {"openapi": "3.1.0", "info": {"title": "Votegate", "version": "1.1.0"}, "paths": {}}
