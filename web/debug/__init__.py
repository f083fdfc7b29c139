"""The debug pages: the inside of the process for the operator. Requests come in, pages go out.

Each page shows the answer of one JSON endpoint, and each action calls one: there are no rules here.
"""
