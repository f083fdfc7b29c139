"""A record of everything that users see, so that a refactoring can be shown to change none of it."""
