#!/usr/bin/env bash
# Runs `portolan-bench hub` against a real API server: starts etcd and kube-apiserver on free ports, both with their
# defaults (fsync on, watch cache on), calls the bench with their processes, and ends them. Arguments go to the bench:
#
#   hack/bench-hub.sh --check -o json
#
# KUBEBUILDER_ASSETS names the folder with kube-apiserver and etcd; without it hack/kube-apiserver.sh makes one.
# PORTOLAN names the program; without it a release build is made. The bench is a release build in any case.
set -euo pipefail
cd "$(dirname "$0")/.."

assets="${KUBEBUILDER_ASSETS:-$(hack/kube-apiserver.sh)}"
cargo build --quiet --release --locked -p portolan -p portolan-bench
built="${CARGO_TARGET_DIR:-target}/release"

work=$(mktemp -d)
pids=()
finish() {
    ((${#pids[@]})) && kill "${pids[@]}" 2>/dev/null && wait "${pids[@]}" 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
answers() { curl --silent --fail --output /dev/null --insecure "$1"; }
wait_for() { # url, pid, log: until the server answers; a machine under load takes its time
    local _
    for _ in $(seq 240); do
        answers "$1" && return 0
        kill -0 "$2" 2>/dev/null || break
        sleep 0.5
    done
    echo "$1 does not answer:" >&2
    tail -n 5 "$3" >&2
    return 1
}

# Somebody else may take a port between the moment it was found free and its use.
for attempt in 1 2 3; do
    client=$(free_port) peer=$(free_port)
    "$assets/etcd" --data-dir "$work/etcd-$attempt" --listen-client-urls "http://127.0.0.1:$client" \
        --advertise-client-urls "http://127.0.0.1:$client" --listen-peer-urls "http://127.0.0.1:$peer" \
        --initial-advertise-peer-urls "http://127.0.0.1:$peer" --initial-cluster "default=http://127.0.0.1:$peer" \
        >"$work/etcd.log" 2>&1 &
    pids=($!)
    wait_for "http://127.0.0.1:$client/health" "${pids[0]}" "$work/etcd.log" && break
    [ "$attempt" -lt 3 ] || exit 2
    kill "${pids[0]}" 2>/dev/null || true
done

openssl genrsa -out "$work/service-account.key" 2048 2>/dev/null
token=$(openssl rand -hex 16)
secure=$(free_port)
printf '%s,bench,bench,system:masters\n' "$token" >"$work/tokens.csv"
"$assets/kube-apiserver" --etcd-servers="http://127.0.0.1:$client" --secure-port="$secure" --bind-address=127.0.0.1 \
    --cert-dir="$work/certs" --token-auth-file="$work/tokens.csv" --authorization-mode=RBAC \
    --service-account-key-file="$work/service-account.key" --service-account-signing-key-file="$work/service-account.key" \
    --service-account-issuer=https://kubernetes.default.svc --service-cluster-ip-range=10.0.0.0/24 \
    --disable-admission-plugins=ServiceAccount >"$work/kube-apiserver.log" 2>&1 &
pids+=($!)

wait_for "https://127.0.0.1:$secure/readyz" "${pids[1]}" "$work/kube-apiserver.log" || exit 2

cat >"$work/kubeconfig" <<YAML
apiVersion: v1
kind: Config
current-context: bench
contexts: [{name: bench, context: {cluster: bench, user: bench}}]
clusters: [{name: bench, cluster: {server: "https://127.0.0.1:$secure", certificate-authority: certs/apiserver.crt}}]
users: [{name: bench, user: {token: "$token"}}]
YAML
"$built/portolan-bench" hub --portolan "${PORTOLAN:-$built/portolan}" --against "$work/kubeconfig" --pid "${pids[@]}" --data "$work" "$@"
