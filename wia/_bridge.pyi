# The extension module is made by hal/bridge/build_bridge.py from the headers; its contents are as
# dynamic as cffi's own types.
from typing import Any

ffi: Any
lib: Any

def check_interpreter() -> None: ...
