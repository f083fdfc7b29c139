"""Search: records of listings come in, refs of those that match a text go out.

Law: the index is only a reader of the log. It is in memory, it is lost with the process, and its failure
stops nothing else. Only approved listings are in it.
"""
