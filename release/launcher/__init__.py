"""Votegate, the API gateway of a bot-listing platform. `python -m votegate` is its command line.

The folders beside this file are the rooms of the source tree. They import each other by their own names, and
`__main__.py` makes these names known to its process alone.
"""
