#!/usr/bin/env bash
# Runs an integration suite of Open Cluster Management with Portolan in the place of OCM's controllers:
#
#   hack/ocm-suite.sh OCM placement|work [FLAG OF GINKGO…]
#
# OCM is a checkout of open-cluster-management-io/ocm. It stays unchanged: the files of hack/ocm-suite/ and a few edited
# copies are laid over it while Go compiles. Needs
#
#   * the Go of OCM's go.mod on PATH;
#   * KUBEBUILDER_ASSETS: a folder with kube-apiserver, kube-controller-manager and etcd; Kubernetes 1.33 or newer;
#   * PORTOLAN: the binary [default: target/debug/portolan, built if it is not there].
#
# Logs of all programs go to PORTOLAN_LOGS [default: a new folder]. docs/conformance.md has the figures.
set -euo pipefail

fail() {
    printf '%s\n' "$*" >&2
    exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
(($# >= 2)) || fail 'usage: hack/ocm-suite.sh OCM placement|work [FLAG OF GINKGO…]'
[ -d "$1/vendor" ] || fail "$1 is no checkout of OCM with its vendor folder"
ocm=$(cd "$1" && pwd)
suite=$2
shift 2
: "${KUBEBUILDER_ASSETS:?names the folder with kube-apiserver, kube-controller-manager and etcd}"
for program in kube-apiserver kube-controller-manager etcd; do
    [ -x "$KUBEBUILDER_ASSETS/$program" ] || fail "KUBEBUILDER_ASSETS has no $program: $KUBEBUILDER_ASSETS"
done
command -v go >/dev/null || fail 'go is not on PATH'
if [ -z "${PORTOLAN:-}" ]; then
    PORTOLAN="$here/../target/debug/portolan"
    [ -x "$PORTOLAN" ] || cargo build --locked --manifest-path "$here/../Cargo.toml" -p portolan
fi
PORTOLAN=$(readlink -f "$PORTOLAN")
KUBEBUILDER_ASSETS=$(readlink -f "$KUBEBUILDER_ASSETS")
PORTOLAN_LOGS=$(readlink -f "${PORTOLAN_LOGS:-$(mktemp -d -t ocm-suite-XXXXXX)}")
export PORTOLAN KUBEBUILDER_ASSETS PORTOLAN_LOGS

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
overlay=()
lay() { # file, path in OCM's checkout
    overlay+=("\"$ocm/$2\": \"$1\"")
}
# Lays an edited copy of a file over it. An edit that finds nothing would leave OCM's own controller at work.
edit() { # path in OCM's checkout, expression of sed
    local copy="$work/${1//\//_}"
    sed -E "$2" "$ocm/$1" >"$copy"
    ! cmp -s "$copy" "$ocm/$1" || fail "$1 of this OCM is not as expected: $2 changes nothing"
    lay "$copy" "$1"
}

lay "$here/ocm-suite/program.go" pkg/portolan/program/program.go
case $suite in
placement)
    edit pkg/placement/controllers/manager.go 's/^func RunControllerManager\(/func ocmRunControllerManager(/'
    lay "$here/ocm-suite/placement.go" pkg/placement/controllers/portolan.go
    ;;
work)
    edit pkg/work/spoke/spokeagent.go 's/\) RunWorkloadAgent\(/) ocmRunWorkloadAgent(/'
    lay "$here/ocm-suite/work-agent.go" pkg/work/spoke/portolan.go
    edit pkg/work/hub/manager.go 's/\) RunWorkHubManager\(/) ocmRunWorkHubManager(/'
    lay "$here/ocm-suite/work-hub.go" pkg/work/hub/portolan.go
    # These specs write PlacementDecisions by hand. Portolan believes such decisions only where the Placement says that no
    # scheduler decides it.
    edit test/integration/work/manifestworkreplicaset_test.go \
        '/&clusterv1beta1\.Placement\{/{n;s/$/\nAnnotations: map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"},/}'
    ;;
*) fail "no suite $suite; the suites are placement and work" ;;
esac
(
    IFS=,
    printf '{"Replace": {%s}}\n' "${overlay[*]}"
) >"$work/overlay.json"

cd "$ocm"
GOFLAGS=-mod=vendor GOPROXY=off CGO_ENABLED=0 \
    go test -vet=off -overlay "$work/overlay.json" -c -o "$work/$suite.test" "./test/integration/$suite"
echo "logs: $PORTOLAN_LOGS" >&2
"$work/$suite.test" --ginkgo.no-color --ginkgo.timeout=90m "$@"
