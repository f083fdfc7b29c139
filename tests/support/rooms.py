"""The rooms of the program, and the imports that they may have."""

DECLARATIONS = {"forms", "grammars", "kinds", "languages"}
"""The rooms that every room from `core` upwards may import, too."""
# Package or module -> the packages of ours that it may import.
MAY_IMPORT: dict[str, set[str]] = {
    "languages": set(),
    "forms": {"grammars", "languages"},
    "kinds": {"forms", "languages"},
    "grammars": {"languages"},
    "ratelimit": set(),
    "decoder": set(),
    "storage": set(),
    "wire": set(),
    "settings": {"grammars", "kinds", "languages"},
    "core": set(),
    "votes": {"core", "search"},
    "people": {"core", "search"},
    "search": {"core", "storage"},
    "listings": {"core", "search"},
    "outbound": {"core"},
    "guild_counts": {"chatplatform", "core", "outbound"},
    "chatplatform": {"core", "outbound"},
    "journal": {"core", "storage"},
    "blobs": {"core", "storage"},
    "webhook": {"chatplatform", "core", "outbound"},
    "direct_messages": {"chatplatform", "core", "webhook"},
    "mail": {"core", "direct_messages", "listings", "webhook"},
    "snapshot": {"blobs", "core", "journal", "storage"},
    "replication": {"blobs", "core", "journal", "storage"},
    "watchers": {"core", "listings", "ratelimit"},
    "actions": {"core", "listings", "people", "search", "votes", "watchers"},
    "handlers": {"actions", "blobs", "core", "votes", "listings", "people", "ratelimit", "watchers"},
    "web": {"actions", "core", "handlers", "ratelimit", "watchers"},
    "pages": {
        *("actions", "blobs", "chatplatform", "core", "handlers", "listings", "people", "ratelimit", "votes"),
        *("search", "watchers", "web"),
    },
    "workers": {"core"},
    "serving": {"core", "handlers", "ratelimit", "watchers"},
    "metrics": {
        *("blobs", "core", "decoder", "handlers", "journal", "serving", "snapshot", "storage", "votes"),
        *("watchers", "webhook", "workers"),
    },
    "operators": {
        *("actions", "core", "decoder", "handlers", "journal", "listings", "metrics", "people", "ratelimit"),
        *("search", "serving", "snapshot", "votes", "watchers", "web", "webhook", "workers"),
    },
    "dev": {"actions", "core", "handlers", "ratelimit", "serving", "storage", "watchers"},
    "openapi": {"actions", "core", "votes", "listings", "people", "handlers", "operators", "watchers"},
    "cli": {"actions", "blobs", "core", "votes", "listings", "journal", "snapshot", "storage"},
}
WITHOUT_DECLARATIONS = {"languages", "forms", "kinds", "grammars", "ratelimit", "storage", "wire", "settings"}
COMPOSITION = {"gateway", "server"}
"""The composition root and the command line may import every room."""
OURS = MAY_IMPORT.keys() | COMPOSITION


def may_import(room: str) -> set[str]:
    """Return the rooms that a room may import."""
    return MAY_IMPORT[room] | (set() if room in WITHOUT_DECLARATIONS else DECLARATIONS)
