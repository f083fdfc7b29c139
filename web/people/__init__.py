"""The pages for people: those who signed in through the chat platform, and everybody else.

In: requests, and what the platform says of who comes back from it. Out: pages, and sessions for others to
keep (`visitors.py`). Nothing here keeps a token of the platform. The sign-in, the look-up of a bot and the
review page wait for it, each with a bound.
"""
