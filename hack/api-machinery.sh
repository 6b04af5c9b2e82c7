#!/usr/bin/env bash
# Runs the end-to-end tests of Kubernetes for its API machinery on `portolan hub`:
#
#   hack/api-machinery.sh E2E_TEST [FLAG OF GINKGO…]
#
# E2E_TEST is the test binary of a checkout of Kubernetes: go test -c -o e2e.test ./test/e2e
# PORTOLAN names the binary [default: target/debug/portolan, built if it is not there]. docs/conformance.md has the figures.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if (($# < 1)) || [ ! -x "$1" ]; then
    printf 'usage: hack/api-machinery.sh E2E_TEST [FLAG OF GINKGO…]\n' >&2
    exit 2
fi
suite=$(readlink -f "$1")
shift
if [ -z "${PORTOLAN:-}" ]; then
    PORTOLAN="$here/../target/debug/portolan"
    [ -x "$PORTOLAN" ] || cargo build --locked --manifest-path "$here/../Cargo.toml" -p portolan
fi
PORTOLAN=$(readlink -f "$PORTOLAN")

folder=$(mktemp -d)
trap 'kill "$hub" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$folder"' EXIT
"$PORTOLAN" hub --listen 127.0.0.1:0 --kubeconfig "$folder/kubeconfig" >"$folder/hub.log" 2>&1 &
hub=$!
for _ in $(seq 100); do
    [ -e "$folder/kubeconfig" ] && break
    kill -0 "$hub" 2>/dev/null || {
        cat "$folder/hub.log" >&2
        exit 1
    }
    sleep 0.1
done

# Specs about kinds of the API itself. What needs pods, nodes or webhooks is left out as far as its name tells.
groups='CustomResourceDefinition|Watchers|FieldValidation|Discovery|Servers with support|Generated clientset|server version'
groups+='|health handlers|API [Ss]treaming|client-go should negotiate|AggregatedDiscovery|CustomResourceFieldSelectors'
groups+='|CRDValidationRatcheting|CustomResourceValidationRules'
cd "$folder"
"$suite" --provider=local --kubeconfig="$folder/kubeconfig" --allowed-not-ready-nodes=-1 --minStartupPods=0 --num-nodes=1 \
    --node-schedulable-timeout=5s --ginkgo.no-color --ginkgo.timeout=40m \
    --ginkgo.focus="\\[sig-api-machinery\\] ($groups)" \
    --ginkgo.skip='chunking|pod details|chunks of table results|[Cc]onversion|[Ww]ebhook' "$@"
