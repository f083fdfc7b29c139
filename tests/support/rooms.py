"""The rooms of the program, and who may import whom."""

# Package or module -> the packages of ours that it may import.
MAY_IMPORT: dict[str, set[str]] = {
    "languages": set(),
    "forms": {"core", "grammars", "languages"},
    "kinds": {"forms", "languages"},
    "core": {"kinds", "languages"},
    "ratelimit": set(),
    "grammars": set(),
    "settings": {"grammars"},
    "storage": set(),
    "wire": set(),
    "votes": {"core"},
    "people": {"core"},
    "search": {"core", "kinds"},
    "listings": {"core", "forms", "grammars", "kinds", "languages"},
    "outbound": {"core", "grammars"},
    "guild_counts": {"chatplatform", "core", "kinds"},
    "chatplatform": {"core", "grammars"},
    "journal": {"core", "storage"},
    "webhook": {"core", "grammars", "kinds", "languages", "outbound"},
    "direct_messages": {"chatplatform", "core", "kinds", "webhook"},
    "snapshot": {"core", "journal", "storage"},
    "replication": {"core", "journal", "storage"},
    "handlers": {
        *("core", "forms", "grammars", "kinds"),
        *("languages", "listings", "people", "ratelimit", "votes"),
    },
    "web": {
        *("chatplatform", "core", "forms", "grammars", "handlers"),
        *("kinds", "languages", "listings", "people", "ratelimit", "votes"),
    },
    "serving": {"core", "handlers", "ratelimit"},
    "metrics": {
        *("core", "direct_messages", "handlers", "journal", "serving", "snapshot", "storage", "votes"),
        "webhook",
    },
    "openapi": {"core", "forms", "grammars", "handlers", "kinds", "listings", "votes"},
    "cli": {
        *("core", "forms", "grammars", "journal"),
        *("kinds", "listings", "snapshot", "storage", "votes"),
    },
}
COMPOSITION = {"gateway", "server"}
"""The composition root and the command line import what they like."""
OURS = MAY_IMPORT.keys() | COMPOSITION
