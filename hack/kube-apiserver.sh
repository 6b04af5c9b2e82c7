#!/usr/bin/env bash
# Builds a real Kubernetes API server (1.20.2, from Debian's source package) and prints the folder that holds it, for
# KUBEBUILDER_ASSETS:
#
#   export KUBEBUILDER_ASSETS="$(hack/kube-apiserver.sh)"
#
# The folder holds kube-apiserver, kube-controller-manager and etcd. It is kept outside of the checkout and built once:
# about ten minutes on two cores. Needs Debian bookworm and root (apt-get).
set -euo pipefail

cache="${PORTOLAN_KUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/portolan/kube-apiserver-1.20.2}"
if [ -x "$cache/kube-apiserver" ] && [ -x "$cache/kube-controller-manager" ] && [ -x "$cache/etcd" ]; then
    echo "$cache"
    exit 0
fi
log() { printf '%s\n' "$*" >&2; }

log 'installing etcd, Go and the build tools'
sources=$(mktemp --suffix=.sources -p /etc/apt/sources.list.d)
trap 'rm -f "$sources"' EXIT
sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$sources"
chmod 644 "$sources"
apt-get update -qq >&2
apt-get install -y -qq --no-install-recommends \
    etcd-server golang-1.19-go golang-github-modern-go-reflect2-dev rsync dpkg-dev make gcc libc6-dev >&2

work=$(mktemp -d)
trap 'rm -f "$sources"; rm -rf "$work"' EXIT
cd "$work"
log 'fetching the source'
apt-get source -qq kubernetes >&2
cd kubernetes-*/

# The bundled reflect2 is older than Go 1.18 and crashes the server on the first custom resource; Debian's own is not.
vendored=vendor/github.com/modern-go/reflect2
rm -f "$vendored"/*.go
cp /usr/share/gocode/src/github.com/modern-go/reflect2/*.go "$vendored"/
rm -f "$vendored"/*_test.go

log 'building kube-apiserver and kube-controller-manager: about ten minutes'
export PATH="/usr/lib/go-1.19/bin:$PATH"
export KUBE_GIT_VERSION=v1.20.2 KUBE_GIT_COMMIT=x KUBE_GIT_TREE_STATE=archive KUBE_GIT_MAJOR=1 KUBE_GIT_MINOR=20
make WHAT="cmd/kube-apiserver cmd/kube-controller-manager" GOFLAGS=-mod=vendor >&2

mkdir -p "$cache"
cp _output/local/bin/linux/amd64/kube-apiserver _output/local/bin/linux/amd64/kube-controller-manager "$cache"/
cp "$(command -v etcd)" "$cache"/etcd
echo "$cache"
