#!/usr/bin/env bash
# Types the README's rollout tutorial on a real API server, with `portolan controller` beside it:
#
#   hack/rollout-on-server.sh
#
# The server comes from hack/kube-apiserver.sh, or from the folder that KUBEBUILDER_ASSETS names; PORTOLAN names the
# program, which is built when it does not.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v kubectl >/dev/null || { echo 'skipped: there is no kubectl'; exit 0; }
if [ -z "${PORTOLAN:-}" ]; then
    cargo build --quiet --locked -p portolan
    PORTOLAN="${CARGO_TARGET_DIR:-target}/debug/portolan"
fi
export PORTOLAN
folder=$(mktemp -d)
pids=()
stop() {
    for pid in "${pids[@]}"; do kill -TERM -- "-$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT TERM

set -m
# Nothing is measured here, so etcd need not wait for the disk.
ETCD_UNSAFE_NO_FSYNC=true PORTOLAN_BENCH_SERVE=1 hack/bench-live.sh >"$folder/server.log" 2>&1 &
pids+=($!)
set +m
for _ in $(seq 300); do grep -q '^KUBECONFIG=' "$folder/server.log" && break; sleep 1; done
KUBECONFIG=$(sed -n 's/^KUBECONFIG=//p' "$folder/server.log")
export KUBECONFIG
set -m
"$PORTOLAN" controller --install-crds --registration --metrics-listen 127.0.0.1:0 >"$folder/controller.log" 2>&1 &
pids+=($!)
set +m
patiently() { # a command that succeeds within a minute
    for _ in $(seq 120); do "$@" >/dev/null 2>&1 && return; sleep 0.5; done
    echo "in vain: $*" >&2
    tail -n 20 "$folder/controller.log" >&2
    exit 1
}
succeed() {
    patiently kubectl patch manifestwork shop.web -n "$1" --subresource=status --type=merge \
        --patch-file examples/rollout-report.json
}
says() { # words, then a command of ours that says them within a minute
    local words=$1
    shift
    patiently sh -c '"$0" "$@" | grep -q -- "'"$words"'"' "$PORTOLAN" "$@"
}
patiently kubectl apply -f examples/rollout.yaml
says '0 of 3 clusters done' rollout status shop/web
succeed canary
patiently "$PORTOLAN" rollout pause shop/web
says '1 of 3 clusters done, paused' rollout status shop/web
patiently "$PORTOLAN" rollout resume shop/web
succeed berlin
succeed oslo
says '3 of 3 clusters done, complete' rollout watch shop/web
echo 'the rollout tutorial works on a real server'
