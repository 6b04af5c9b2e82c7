#!/usr/bin/env bash
# Builds examples/consumers/go, a consumer on client-go's informers, with the client-go of Kubernetes 1.20.2 (Debian's
# source package), and prints the program:
#
#   export PORTOLAN_GO_CONSUMER="$(hack/go-consumer.sh)"
#
# It is kept outside of the checkout and built once for each version of its source: about three minutes on two idle cores.
# Needs Debian bookworm and root (apt-get).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
program="$here/../examples/consumers/go"
version=$(cat "$program"/*.go "$0" "$here/kubernetes-source.sh" | sha256sum | cut -c1-16)
cache="${XDG_CACHE_HOME:-$HOME/.cache}/portolan/go-consumer/$version"

mkdir -p "$cache"
# Two builds at a time would take twice as long and end with the same.
exec 9>"$cache/lock"
flock 9
if [ ! -x "$cache/follow" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    tree=$("$here/kubernetes-source.sh" "$work" golang-1.19-go golang-github-modern-go-reflect2-dev)
    # Its vendored packages are found in a GOPATH alone.
    mkdir -p "$work/go/src/k8s.io"
    mv "$tree" "$work/go/src/k8s.io/kubernetes"
    cd "$work/go/src/k8s.io/kubernetes"
    # The bundled reflect2 is older than Go 1.18 and crashes on the first object; Debian's own is not.
    vendored=vendor/github.com/modern-go/reflect2
    rm -f "$vendored"/*.go
    cp /usr/share/gocode/src/github.com/modern-go/reflect2/*.go "$vendored"/
    rm -f "$vendored"/*_test.go
    mkdir cmd/portolan-consumer
    cp "$program"/*.go cmd/portolan-consumer/
    echo 'building the consumer' >&2
    GO111MODULE=off GOPATH="$work/go" CGO_ENABLED=0 /usr/lib/go-1.19/bin/go build -o "$work/follow" ./cmd/portolan-consumer >&2
    # Complete or not there: a copy that is cut short must not be taken for the result.
    cp "$work/follow" "$cache/follow.new"
    mv "$cache/follow.new" "$cache/follow"
fi
echo "$cache/follow"
