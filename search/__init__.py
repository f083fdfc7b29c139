"""Search: public listings come in, and lists of refs go out: in an order, by words, and page by page.

Invariant: every part only reads the log and the state. Its memory is lost with the process. Nobody finds a
listing that is not public, except the operator (`finding.py`).

Reading order: `paging`, `catalogue`, `order_chunks`, `list_orders`, `list_keeper`; `search_words`,
`search_query`, `kind_table`, `search_table`, `index`, `similar`.
"""
