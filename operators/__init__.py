"""The operator's side: the inside of the process, as JSON and as pages under `/debug`.

In: a request of the operator. Out: a view, which is the JSON, and a page that shows it. Invariants: no secret
is ever shown, and a page has no rule of its own: its actions call the endpoints of the API.
"""
