"""The rooms of the program, and who may import whom."""

# Package or module -> the packages of ours that it may import.
MAY_IMPORT: dict[str, set[str]] = {
    "languages": set(),
    "core": {"languages"},
    "ratelimit": set(),
    "grammars": {"languages"},
    "settings": {"grammars", "languages"},
    "storage": set(),
    "wire": set(),
    "votes": {"core"},
    "people": {"core", "languages"},
    "search": {"core"},
    "listings": {"core", "grammars", "languages"},
    "outbound": {"core", "grammars"},
    "guild_counts": {"chatplatform", "core"},
    "chatplatform": {"core"},
    "journal": {"core", "languages", "storage"},
    "webhook": {"core", "grammars", "languages", "outbound"},
    "direct_messages": {"chatplatform", "core", "webhook"},
    "snapshot": {"core", "journal", "storage"},
    "replication": {"core", "journal", "storage"},
    "handlers": {"core", "languages", "votes", "listings", "people", "ratelimit"},
    "web": {"core", "chatplatform", "handlers", "languages", "listings", "people", "ratelimit", "votes"},
    "serving": {"core", "handlers", "ratelimit"},
    "metrics": {
        *("core", "direct_messages", "handlers", "journal", "serving", "snapshot", "storage", "votes"),
        "webhook",
    },
    "openapi": {"core", "languages", "votes", "listings", "handlers"},
    "cli": {"core", "grammars", "votes", "listings", "journal", "snapshot", "storage"},
}
COMPOSITION = {"gateway", "server"}
"""The composition root and the command line import what they like."""
OURS = MAY_IMPORT.keys() | COMPOSITION
