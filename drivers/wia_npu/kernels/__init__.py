"""The compiled kernels: Numba code, imported by wia_npu._compiler when one is first prepared.

A module holds the code that a chunk of one kind of program runs: a cfunc of the module's name,
which reads what it has to do from the program's words (wia_npu._words). `run` is what the library
calls: it shares chunks out over Numba's threads. Nothing on the way enters Python or takes the
GIL.
"""
