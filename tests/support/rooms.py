"""The rooms of the program, and who may import whom."""

# Package or module -> the packages of ours that it may import.
MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "languages": {"core"},
    "ratelimit": set(),
    "grammars": set(),
    "settings": {"grammars"},
    "storage": set(),
    "wire": set(),
    "votes": {"core"},
    "people": {"core"},
    "search": {"core"},
    "listings": {"core", "grammars"},
    "outbound": {"core", "grammars"},
    "guild_counts": {"chatplatform", "core", "outbound"},
    "chatplatform": {"core", "grammars", "outbound"},
    "journal": {"core", "storage"},
    "webhook": {"core", "grammars", "languages", "outbound"},
    "direct_messages": {"chatplatform", "core", "webhook"},
    "snapshot": {"core", "journal", "storage"},
    "replication": {"core", "journal", "storage"},
    "handlers": {"core", "votes", "listings", "people", "ratelimit"},
    "web": {"core", "chatplatform", "handlers", "languages", "listings", "people", "ratelimit", "votes"},
    "serving": {"core", "handlers", "ratelimit"},
    "metrics": {
        *("core", "direct_messages", "handlers", "journal", "serving", "snapshot", "storage", "votes"),
        "webhook",
    },
    "openapi": {"core", "votes", "listings", "handlers"},
    "cli": {"core", "grammars", "votes", "listings", "journal", "snapshot", "storage"},
}
COMPOSITION = {"gateway", "server"}
"""The composition root and the command line import what they like."""
OURS = MAY_IMPORT.keys() | COMPOSITION
