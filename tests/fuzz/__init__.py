"""Fuzzers: see __main__.py. A package, so that tools tell its `__main__` from others."""
