#!/usr/bin/env bash
# Installs the Python client of Kubernetes once, outside of the checkout, and prints the interpreter that has it. Needs
# python3 with its venv module (on Debian: python3-venv).
set -euo pipefail

requirements="$(cd "$(dirname "$0")" && pwd)/clients/python/requirements.txt"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/portolan/python/$(sha256sum "$requirements" | cut -c1-12)"
mkdir -p "$cache"
# Two at a time would meet half an installation.
exec 9>"$cache/lock"
flock 9
if [ ! -e "$cache/complete" ]; then
    python3 -m venv --clear "$cache/venv" >&2
    "$cache/venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements" >&2
    : >"$cache/complete"
fi
echo "$cache/venv/bin/python"
