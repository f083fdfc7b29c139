"""Rate limits of bots and addresses. A key, a policy and the time come in, and a decision goes out.

The decision carries everything that the headers of an answer say. The room is pure: it reads no clock, so the
promised wait is exact. A request that fails costs its bot nothing.
"""
