#!/usr/bin/env bash
# Runs the five stories of examples/stories on real API servers: one is the hub, with `portolan controller` beside it,
# six are members, with `portolan join` and `portolan agent`:
#
#   hack/stories-on-server.sh [STORY…]
#
# The servers come from hack/kube-apiserver.sh, or from the folder that KUBEBUILDER_ASSETS names. They share one etcd and
# take 3.5 GB; on a small machine REAL_MEMBERS names fewer members, and the others are `portolan hub`s. They have no
# kubelets, so workloads are simulated (`portolan demo workloads`); a real member that is told to fail loses its API
# server. PORTOLAN, DR_CONTROLLER and DEPLOY name the programs, which are built when they do not.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v kubectl >/dev/null || { echo 'skipped: there is no kubectl'; exit 0; }
if [ -z "${PORTOLAN:-}" ] || [ -z "${DR_CONTROLLER:-}" ] || [ -z "${DEPLOY:-}" ]; then
    cargo build --quiet --locked --bin portolan --example dr-controller --example deploy
    built="${CARGO_TARGET_DIR:-target}/debug"
    PORTOLAN="$built/portolan" DR_CONTROLLER="$built/examples/dr-controller" DEPLOY="$built/examples/deploy"
fi
export PORTOLAN DR_CONTROLLER DEPLOY
assets="${KUBEBUILDER_ASSETS:-$(hack/kube-apiserver.sh)}"
members="member-1 member-2 member-3 member-4 member-5 member-6"
real="${REAL_MEMBERS-$members}"

folder=$(mktemp -d)
stop() {
    # Everything that was started is a child of this shell or of its one helper, and has left its number.
    cat "$folder"/*.pid 2>/dev/null | while read -r pid; do kill -9 "$pid" 2>/dev/null || true; done
    rm -rf "$folder" || { sleep 1; rm -rf "$folder"; } # one of them may still have been writing
}
trap stop EXIT
trap 'exit 130' INT TERM
umask 077

run() { # a name for the log, then a program that is ended with this script
    local name=$1
    shift
    "$@" </dev/null >>"$folder/$name.log" 2>&1 &
    echo $! >"$folder/$name.pid"
    disown # what was killed on purpose is not worth a word
}
patiently() { # a command that succeeds within two minutes
    for _ in $(seq 240); do "$@" >/dev/null 2>&1 && return; sleep 0.5; done
    echo "in vain: $*" >&2
    tail -n 10 "$folder"/*.log >&2
    exit 1
}

mapfile -t ports < <(python3 - <<'PY'
import socket
sockets = [socket.socket() for _ in range(9)]
for one in sockets:
    one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in sockets), sep="\n")
PY
)
etcd="http://127.0.0.1:${ports[0]}" peer="http://127.0.0.1:${ports[1]}"
token=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
echo "$token,admin,admin,system:masters" >"$folder/tokens.csv"
openssl genrsa -out "$folder/account.key" 2048 2>/dev/null
run etcd "$assets/etcd" --data-dir "$folder/etcd" --name stories --unsafe-no-fsync \
    --listen-client-urls "$etcd" --advertise-client-urls "$etcd" --listen-peer-urls "$peer" \
    --initial-advertise-peer-urls "$peer" --initial-cluster "stories=$peer"

kubeconfig() { # name, port
    cat >"$folder/$1.kubeconfig" <<YAML
apiVersion: v1
kind: Config
current-context: $1
clusters: [{name: $1, cluster: {server: "https://127.0.0.1:$2", insecure-skip-tls-verify: true}}]
users: [{name: $1, user: {token: "$token"}}]
contexts: [{name: $1, context: {cluster: $1, user: $1}}]
YAML
}
api_server() { # name, port: a real API server with its part of the one etcd
    run "$1" "$assets/kube-apiserver" --etcd-servers "$etcd" --etcd-prefix "/$1" --bind-address 127.0.0.1 \
        --secure-port "$2" --cert-dir "$folder/certs-$1" --token-auth-file "$folder/tokens.csv" --authorization-mode RBAC \
        --service-account-key-file "$folder/account.key" --service-account-signing-key-file "$folder/account.key" \
        --service-account-issuer https://kubernetes.default.svc --service-cluster-ip-range 10.0.0.0/24 \
        --disable-admission-plugins ServiceAccount
}
minor=$("$assets/kube-controller-manager" --version | sed 's/.*v1\.\([0-9]*\).*/\1/')
flags='--secure-port=0'
if ((minor < 24)); then flags+=' --port=0'; fi # the port without TLS had a default until the flag was taken away
controllers() { # name: what collects garbage and ends namespaces
    # shellcheck disable=SC2086 # several flags
    run "$1-controllers" "$assets/kube-controller-manager" --kubeconfig "$folder/$1.kubeconfig" --leader-elect=false \
        --controllers=garbagecollector,namespace $flags
}

declare -A port
next=2
for name in hub $real; do
    port[$name]=${ports[$next]}
    next=$((next + 1))
    kubeconfig "$name" "${port[$name]}"
    api_server "$name" "${port[$name]}"
done
for name in $members; do
    [ -n "${port[$name]:-}" ] && continue
    run "$name" "$PORTOLAN" hub --listen 127.0.0.1:0 --kubeconfig "$folder/$name.kubeconfig"
done
for name in hub $members; do
    patiently kubectl --kubeconfig "$folder/$name.kubeconfig" get namespace default
    if [ -n "${port[$name]:-}" ]; then controllers "$name"; fi
done

export KUBECONFIG="$folder/hub.kubeconfig"
run controller "$PORTOLAN" controller --install-crds --registration --metrics-listen 127.0.0.1:0
patiently kubectl get managedclustersets global
spokes=()
index=0
regions=(eu-central-1 us-east-1 ap-south-1)
sets=(production production staging)
for name in $members; do
    labels=(--label "topology.kubernetes.io/region=${regions[index % 3]}")
    if ((index % 2)); then labels+=(--label gpu=a100); fi
    patiently "$PORTOLAN" join "$name" --set "${sets[index % 3]}" "${labels[@]}" --write "$folder/$name-agent.kubeconfig"
    kubectl patch managedcluster "$name" --type=merge -p '{"spec": {"leaseDurationSeconds": 5}}' >/dev/null
    run "$name-agent" "$PORTOLAN" agent --hub "$folder/$name-agent.kubeconfig" --spoke "$folder/$name.kubeconfig" \
        --cluster "$name" --install-crds --longest-backoff 2s
    spokes+=(--spoke "$folder/$name.kubeconfig")
    index=$((index + 1))
done
run workloads "$PORTOLAN" demo workloads "${spokes[@]}"
MEMBERS="$folder/members.kubeconfig" # a context for each, called like the member
export MEMBERS
for name in $members; do kubectl --kubeconfig "$folder/$name.kubeconfig" config view --raw -o json; done |
    python3 -c '
import json, sys
merged = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
text, decoder = sys.stdin.read(), json.JSONDecoder()
for name in sys.argv[1:]:
    one, end = decoder.raw_decode(text)
    text = text[end:].lstrip()
    merged["clusters"].append({"name": name, "cluster": one["clusters"][0]["cluster"]})
    merged["users"].append({"name": name, "user": one["users"][0]["user"]})
    merged["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
json.dump(merged, sys.stdout)
' $members >"$MEMBERS"
patiently kubectl wait --for=condition=ManagedClusterConditionAvailable managedclusters --all --timeout=1s

fates() { # a real member that is to fail has no API server
    local name
    while sleep 0.5; do
        for name in $real; do
            if [ -f "$folder/failed/$name" ] && [ -f "$folder/$name.pid" ]; then
                kill -9 "$(cat "$folder/$name.pid")" && rm "$folder/$name.pid"
            elif [ ! -f "$folder/failed/$name" ] && [ ! -f "$folder/$name.pid" ]; then
                api_server "$name" "${port[$name]}"
            fi
        done
    done
}
run fates fates
# These members are none that `portolan demo fail` knows, so the story gets commands of its own.
mkdir "$folder/failed"
printf '#!/bin/sh\ntouch "%s/$1"\n' "$folder/failed" >"$folder/fail"
printf '#!/bin/sh\nrm -f "%s/$1"\n' "$folder/failed" >"$folder/recover"
chmod +x "$folder/fail" "$folder/recover"
export FAIL="$folder/fail" RECOVER="$folder/recover"

echo "the hub and $real are real API servers, and all is up after $SECONDS s"
for story in "${@:-1 2 3 4 5}"; do
    for number in $story; do
        echo
        if ! examples/stories/"$number"-*/run.sh; then
            tail -n 15 "$folder"/{controller,workloads,member-?-agent,*-controllers}.log >&2
            exit 1
        fi
    done
done
echo
echo "the stories hold on real API servers ($SECONDS s)"
