"""The languages of texts: their names, their catalogs, and which of them somebody understands.

In: catalogs of translations, and what a browser or an account says of languages. Out: functions that
translate, and a language. Invariants: English is the source text, and what is left where nothing else is
known.
A catalog is compiled in memory, so no compiled file can be older than its source.
"""
