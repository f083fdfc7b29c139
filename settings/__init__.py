"""Every setting. Flags, variables and a YAML file come in; one frozen, validated tree goes out.

`model.py` is the tree, `values.py` has the values that a setting may have and finds the name that a wrong one
was meant to be, and `sources.py` merges their sources. All mistakes are reported at once, by name, and no
message holds a secret. Only `gateway/` and `server.py` import this room.
"""
