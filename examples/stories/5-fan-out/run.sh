#!/bin/sh
# Story 5: four consumers that know nothing of each other act on one decision, and follow it.
set -eu
here=$(dirname "$0")
namespace=story-payments
. "$here/../lib.sh"

key=payment-service
consumers="deployer scanner observability backup"

object_of() { # what a consumer brings to a cluster
    case $1 in
    deployer) echo deployment/payments ;;
    scanner) echo job/payments-scan ;;
    observability) echo configmap/payments-dashboard ;;
    backup) echo configmap/payments-backup ;;
    esac
}
all_follow() {
    for one in $consumers; do
        object=$(object_of "$one")
        eventually "$one: ${object#*/} is on $1 alone" exactly_on "$object" "$1"
    done
}
decided_number() { [ "$(decided $key | wc -w)" = "$1" ]; }
decided_without() { decided_number 3 && case " $(decided $key) " in *" $1 "*) return 1 ;; esac }
taint() { kubectl patch managedcluster "$1" --type=merge -p "{\"spec\": {\"taints\": $2}}" >/dev/null; }
clean_more() {
    for one in $fleet; do taint "$one" null; done
    kubectl delete works --all-namespaces -l example.com/deployed-for=$key --timeout="${PATIENCE}s" >/dev/null
}

program_ready "${DEPLOY:-}" deploy # 40 lines of Rust: crates/portolan-consumer/examples/deploy.rs
begin "Story 5: one decision, four consumers"

step "One request, one decision"
kubectl apply -f "$here/placement.yaml"
eventually "three clusters are decided" decided_number 3
chosen=$(decided $key)
say "   $chosen"

step "Four consumers: a deployer, a security scanner, observability, backup"
for one in $consumers; do
    background program "${DEPLOY:-}" deploy $namespace $key "$here/$one.json"
done
all_follow "$chosen"

step "One of the clusters goes into maintenance, and the decision changes once"
leaving=${chosen%% *}
taint "$leaving" '[{"key": "example.com/maintenance", "effect": "NoSelect"}]'
eventually "$leaving is no longer decided" decided_without "$leaving"
chosen=$(decided $key)
say "   $chosen"
all_follow "$chosen"

[ "$(kubectl get placements -n $namespace -o name | wc -l)" = 1 ] || fail "there is more than one request"
[ "$(kubectl get $decisions -n $namespace -o name | wc -l)" = 1 ] || fail "there is more than one decision"
say "   and all of that on one request and one decision"
