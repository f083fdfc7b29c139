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
    "guild_counts": {"chatplatform", "core"},
    "chatplatform": {"core"},
    "journal": {"core", "storage"},
    "webhook": {"core", "grammars", "languages", "outbound"},
    "direct_messages": {"chatplatform", "core", "webhook"},
    "snapshot": {"core", "journal", "storage"},
    "replication": {"core", "journal", "storage"},
    "watchers": {"core", "listings", "ratelimit"},
    "handlers": {"core", "votes", "listings", "people", "ratelimit", "watchers"},
    "web": {
        *("core", "chatplatform", "handlers", "languages", "listings", "people", "ratelimit", "votes"),
        "watchers",
    },
    "serving": {"core", "handlers", "ratelimit", "watchers"},
    "metrics": {
        *("core", "direct_messages", "handlers", "journal", "serving", "snapshot", "storage", "votes"),
        *("watchers", "webhook"),
    },
    "operators": {
        *("core", "handlers", "listings", "metrics", "people", "ratelimit", "votes", "watchers", "web"),
    },
    "openapi": {"core", "votes", "listings", "handlers", "operators", "watchers"},
    "cli": {"core", "grammars", "votes", "listings", "journal", "snapshot", "storage"},
}
COMPOSITION = {"gateway", "server"}
"""The composition root and the command line import what they like."""
OURS = MAY_IMPORT.keys() | COMPOSITION
