#!/usr/bin/env bash
# Measures the live controllers on a real API server that is started for it and stopped afterwards:
#
#   hack/bench-live.sh --clusters 2000 --placements 200 -o json
#
# Arguments go to `portolan-bench live`. The server comes from hack/kube-apiserver.sh, or from the folder that
# KUBEBUILDER_ASSETS names. The controllers that it measures are those of the bench's own release build.
set -euo pipefail
cd "$(dirname "$0")/.."

assets="${KUBEBUILDER_ASSETS:-$(hack/kube-apiserver.sh)}"
if [ -z "${PORTOLAN_BENCH_SERVE:-}" ]; then # before the server runs: a build would disturb it
    cargo build --quiet --release --locked -p portolan -p portolan-bench
fi
bench="${CARGO_TARGET_DIR:-target}/release/portolan-bench"

folder=$(mktemp -d)
pids=()
stop() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT TERM

read -r client peer port < <(python3 - <<'PY'
import socket
sockets = [socket.socket() for _ in range(3)]
for one in sockets:
    one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in sockets))
PY
)
token=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
umask 077
echo "$token,admin,admin,system:masters" >"$folder/tokens.csv"
openssl genrsa -out "$folder/account.key" 2048 2>/dev/null

# In a process group of their own, so that Ctrl-C reaches the bench first and it can clean up.
set -m
"$assets/etcd" --data-dir "$folder/etcd" --name bench \
    --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
    --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
    --initial-cluster "bench=http://127.0.0.1:$peer" >"$folder/etcd.log" 2>&1 &
pids+=($!)
"$assets/kube-apiserver" --etcd-servers "http://127.0.0.1:$client" --bind-address 127.0.0.1 --secure-port "$port" \
    --cert-dir "$folder/certs" --token-auth-file "$folder/tokens.csv" --authorization-mode RBAC \
    --service-account-key-file "$folder/account.key" --service-account-signing-key-file "$folder/account.key" \
    --service-account-issuer https://kubernetes.default.svc --service-cluster-ip-range 10.0.0.0/24 \
    --disable-admission-plugins ServiceAccount >"$folder/kube-apiserver.log" 2>&1 &
pids+=($!)
set +m

cat >"$folder/kubeconfig" <<YAML
apiVersion: v1
kind: Config
current-context: bench
clusters: [{name: bench, cluster: {server: "https://127.0.0.1:$port", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: "$token"}}]
contexts: [{name: bench, context: {cluster: bench, user: admin}}]
YAML
ready() { curl -sfk -H "Authorization: Bearer $token" "https://127.0.0.1:$port/readyz" >/dev/null; }
for _ in $(seq 240); do ready && break; sleep 0.5; done
if ! ready; then
    tail -n 20 "$folder"/*.log >&2
    echo 'the API server did not become ready in two minutes' >&2
    exit 1
fi

if [ -n "${PORTOLAN_BENCH_SERVE:-}" ]; then # for whoever wants to look at the server themselves
    echo "KUBECONFIG=$folder/kubeconfig" >&2
    sleep infinity & wait $!
fi
"$bench" live --kubeconfig "$folder/kubeconfig" "$@"
