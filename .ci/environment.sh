# Read by run-digits, run-tests and the files beside this one: makes the virtual environment .venv in
# the work tree and installs wia into it. Says in one line what the machine lacks.
#
#   set_up                wia itself
#   set_up_tools EXTRAS   and what these extras of pyproject.toml add

root=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
case $root in */.ci) root=${root%/.ci} ;; esac
venv=$root/.venv
python=$venv/bin/python

missing() {
  echo "$1 is missing; install it, on Debian: apt-get install $2" >&2
  exit 1
}

# The first Python that can do it all: 3.11, venv, headers, and the shared library, which C programs
# load for Python drivers. PYTHON names another one.
find_python() {
  best=
  for candidate in ${PYTHON:-python3 /usr/bin/python3 python3.13 python3.12 python3.11}; do
    command -v "$candidate" >/dev/null 2>&1 || continue
    lacks=$("$candidate" - <<'END' 2>/dev/null || echo "Python 3.11 or newer:python3"
import importlib.util
import pathlib
import sys
import sysconfig

get = sysconfig.get_config_var
if sys.version_info < (3, 11):
    print("Python 3.11 or newer:python3")
elif not (importlib.util.find_spec("ensurepip") and importlib.util.find_spec("venv")):
    print("The Python module venv:python3-venv")
elif not pathlib.Path(sysconfig.get_path("include"), "Python.h").is_file():
    print("The Python header Python.h:python3-dev")
elif not pathlib.Path(get("LIBDIR"), get("INSTSONAME")).is_file():
    print("The Python library libpython:python3-dev")
END
    )
    if [ -z "$lacks" ]; then
      command -v "$candidate"
      return
    fi
    best=${best:-$lacks}
  done
  best=${best:-Python 3.11 or newer:python3}
  missing "${best%:*}" "${best#*:}"
}

hash_of() {
  (cd "$root" && find "$@" -type f ! -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum) |
    sha256sum | cut -d ' ' -f 1
}

pip_install() {
  "$python" -m pip --disable-pip-version-check install -qq "$@"
}

set_up() {
  command -v cc >/dev/null 2>&1 || missing "A C compiler (cc)" build-essential
  command -v c++ >/dev/null 2>&1 || missing "A C++ compiler (c++)" build-essential
  base=$(find_python) || exit 1
  if [ ! -x "$python" ] || [ "$(cat "$venv/made-with" 2>/dev/null)" != "$base" ]; then
    echo "Making the virtual environment .venv with $base"
    "$base" -m venv --clear "$venv"
    echo "$base" >"$venv/made-with"
  fi
  PATH=$venv/bin:$PATH
  export PATH
  sources=$(hash_of pyproject.toml README.md CMakeLists.txt cmake hal include wia wia_command \
    wia_drivers.d drivers conformance)
  if [ "$(cat "$venv/installed" 2>/dev/null)" != "$sources" ]; then
    echo "Building and installing wia"
    pip_install scikit-build-core cffi pycparser
    command -v cmake >/dev/null 2>&1 || pip_install cmake
    command -v ninja >/dev/null 2>&1 || pip_install ninja
    pip_install --no-build-isolation "$root"
    echo "$sources" >"$venv/installed"
  fi
}

set_up_tools() {
  set_up
  tools="$1 $(hash_of pyproject.toml)"
  if [ "$(cat "$venv/tools" 2>/dev/null)" != "$tools" ]; then
    echo "Installing the tools: $1"
    pip_install --no-build-isolation "$root[$1]"
    echo "$tools" >"$venv/tools"
  fi
}
