"""The pages of moderators: reviews, quarantines of owners, and suspicious votes.

Invariant: nobody decides about a listing of their own.
"""
