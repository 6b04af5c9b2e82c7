#!/usr/bin/env bash
# Builds a real Kubernetes API server (1.20.2, from Debian's source package) and prints the folder that holds it, for
# KUBEBUILDER_ASSETS:
#
#   export KUBEBUILDER_ASSETS="$(hack/kube-apiserver.sh)"
#
# The folder holds kube-apiserver, kube-controller-manager and etcd. It is kept outside of the checkout and built once:
# about six minutes on two cores. Needs Debian bookworm and root (apt-get).
set -euo pipefail

cache="${PORTOLAN_KUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/portolan/kube-apiserver-1.20.2-mended}"
programs=(kube-apiserver kube-controller-manager etcd)
log() { printf '%s\n' "$*" >&2; }
complete() {
    local program
    for program in "${programs[@]}"; do [ -x "$cache/$program" ] || return 1; done
}

if complete; then
    echo "$cache"
    exit 0
fi
# Two builds at a time would take twice as long and end with the same.
mkdir -p "$(dirname "$cache")"
exec 9>"$cache.lock"
flock 9
if complete; then
    echo "$cache"
    exit 0
fi

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$("$here/kubernetes-source.sh" "$work" \
    etcd-server golang-1.19-go golang-github-modern-go-reflect2-dev rsync make gcc libc6-dev)
cd "$tree"

# The bundled reflect2 is older than Go 1.18 and crashes the server on the first custom resource; Debian's own is not.
vendored=vendor/github.com/modern-go/reflect2
rm -f "$vendored"/*.go
cp /usr/share/gocode/src/github.com/modern-go/reflect2/*.go "$vendored"/
rm -f "$vendored"/*_test.go

# Its schema validation tells an empty string from null by comparing addresses, which holds no longer since Go 1.16:
# every custom resource with an empty string would be refused. Later versions of Kubernetes compare with nil alone.
sed -i 's/if data == nil || reflect.DeepEqual(reflect.Zero(reflect.TypeOf(data)), reflect.ValueOf(data)) {/if data == nil {/' \
    vendor/k8s.io/kube-openapi/pkg/validation/validate/type.go vendor/github.com/go-openapi/validate/type.go

log 'building kube-apiserver and kube-controller-manager: about six minutes'
export PATH="/usr/lib/go-1.19/bin:$PATH"
export KUBE_GIT_VERSION=v1.20.2 KUBE_GIT_COMMIT=x KUBE_GIT_TREE_STATE=archive KUBE_GIT_MAJOR=1 KUBE_GIT_MINOR=20
# Without the libraries of cloud providers, which take as long to compile as all the rest, and without debugging information.
make WHAT="cmd/kube-apiserver cmd/kube-controller-manager" GOFLAGS='-mod=vendor -tags=providerless' GOLDFLAGS='-s -w' >&2

# Complete or not there: a copy that is cut short must not be taken for the result.
mkdir -p "$cache.new"
cp _output/local/bin/linux/*/kube-apiserver _output/local/bin/linux/*/kube-controller-manager "$cache.new"/
cp "$(command -v etcd)" "$cache.new"/etcd
rm -rf "$cache"
mv "$cache.new" "$cache"
echo "$cache"
