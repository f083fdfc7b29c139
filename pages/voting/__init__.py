"""The pages on which people vote. Invariant: the button casts a vote, and nothing else does."""
