"""The languages of texts: their names, their catalogs, and the texts of all refusals.

In: codes with facts, catalogs of translations, and the languages that a browser or an account names. Out:
texts, functions that translate, and a language. Invariants: English is the source text, and what is left
where no translation is known. The room imports no other, because every room may say something.
A catalog is compiled in memory, so no compiled file can be older than its source.
"""
