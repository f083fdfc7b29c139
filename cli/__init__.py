"""The commands beside `serve`. A command line comes in; calls to a gateway, files and text go out.

A command reports each problem in one line and ends with status 1. No command changes a data folder that a
gateway has locked, and none prints a secret that it was not asked for.
"""
