"""The pages that everybody sees. Invariant: they show public listings alone."""
