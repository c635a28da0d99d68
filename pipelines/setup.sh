#!/usr/bin/env bash
# Find a Python that fits, then let pipelines/set_up.py make .venv with it.
# PYTHON=/path/to/python and ENGINE=cuda|cpu|none override the choices. Safe to run again.
set -euo pipefail
unset CDPATH # with it, cd may go elsewhere
cd "$(dirname "$0")/.."
# Another project's packages must not leak in from the shell that this is started from.
unset PYTHONPATH PYTHONHOME PYTHONSAFEPATH VIRTUAL_ENV CONDA_PREFIX

NEWEST=14 # all packages have wheels for Python 3.11 to 3.14

say() { printf '%s\n' "$*" >&2; }

accepts() { # does this Python ($1) have this module ($2), and is it 3.11 to 3.$3?
    "$1" -c "import sys, $2; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, $3))" \
        >/dev/null 2>&1
}

on_path() { # the first Python on the path with this module ($1), 3.$2 at the newest
    local name
    for name in python3.12 python3.11 python3.13 python3.14 python3; do
        if accepts "$name" "$1" "$2"; then
            command -v "$name"
            return
        fi
    done
    return 1
}

from_uv() {
    command -v uv >/dev/null || return 1
    uv python find --system --no-project 3.12 2>/dev/null && return
    say "no Python 3.11 to 3.$NEWEST is on the path: uv fetches 3.12"
    uv python install 3.12 >&2 && uv python find --system --no-project 3.12
}

version_of() { "$1" -c 'import platform; print(platform.python_version())' 2>/dev/null; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        if accepts "$PYTHON" venv 99; then
            echo "$PYTHON"
            return
        fi
        say "error: PYTHON=$PYTHON does not do: found $(version_of "$PYTHON" || echo "no Python there")." \
            "Set it to a Python from 3.11 to 3.$NEWEST"
        return 1
    fi
    # One without ensurepip is on Debian without python3-venv: set_up.py says what to install.
    on_path ensurepip "$NEWEST" || on_path venv "$NEWEST" || from_uv || on_path venv 99 && return
    say "error: no Python from 3.11 to 3.$NEWEST: found $(version_of python3 || echo none)." \
        "Install one (python3.12 and python3.12-venv, or uv, which fetches its own)," \
        "or set PYTHON=/path/to/python"
    return 1
}

python=$(find_python)
exec "$python" -m pipelines.set_up
