#!/usr/bin/env bash
# Installs the JavaScript client of Kubernetes once, outside of the checkout, and prints the folder of its modules. Needs
# node and npm.
set -euo pipefail

versions="$(cd "$(dirname "$0")" && pwd)/clients/javascript"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/portolan/javascript/$(sha256sum "$versions/package-lock.json" | cut -c1-12)"
mkdir -p "$cache"
# Two at a time would meet half an installation.
exec 9>"$cache/lock"
flock 9
if [ ! -e "$cache/complete" ]; then
    cp "$versions"/package*.json "$cache"
    npm ci --silent --no-audit --no-fund --prefix "$cache" >&2
    : >"$cache/complete"
fi
echo "$cache/node_modules"
