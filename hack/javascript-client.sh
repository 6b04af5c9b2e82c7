#!/usr/bin/env bash
# Installs the JavaScript client of Kubernetes once, outside of the checkout, and prints the folder of its modules. Needs
# node and npm.
set -euo pipefail

version=1.3.0
cache="${XDG_CACHE_HOME:-$HOME/.cache}/portolan/javascript/kubernetes-$version"
mkdir -p "$cache"
# Two at a time would meet half an installation.
exec 9>"$cache/lock"
flock 9
if [ ! -e "$cache/complete" ]; then
    npm install --silent --no-audit --no-fund --prefix "$cache" "@kubernetes/client-node@$version" >&2
    : >"$cache/complete"
fi
echo "$cache/node_modules"
