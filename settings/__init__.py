"""Every setting. Flags, variables and a YAML file come in; one frozen, validated tree goes out.

`model.py` is the tree, `values.py` the values that a setting may have, `sources.py` merges their sources, and
`names.py` finds the name that a wrong one was meant to be. All mistakes are reported at once, by name, and no
message holds a secret. Only `gateway/` and `server.py` import this room.
"""
