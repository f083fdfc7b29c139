"""Forms: types whose fields say by notes what is valid, how JSON Schema says it, and what people see of it.

In: JSON objects, queries and posted forms. Out: forms, or all faults at once. `rules.py` is the vocabulary of
notes, and `fields.py` has the types that many forms share. Invariant: a form that was read breaks no rule.
"""
