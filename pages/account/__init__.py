"""The pages of a person's own account. Invariant: a person sees and changes their own alone."""
