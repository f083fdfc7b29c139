"""The pages of a listing for its owners. Invariant: a stranger does not learn that a listing exists."""
