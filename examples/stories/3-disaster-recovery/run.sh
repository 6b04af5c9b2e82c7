#!/bin/sh
# Story 3: a disaster-recovery controller writes decisions itself; the workload follows it as it would follow anybody.
set -eu
here=$(dirname "$0")
namespace=story-orders
. "$here/../lib.sh"

key=db-primary primary=member-1 standby=member-2
# Commands that make a member fail and recover, given its name. These are for members that `portolan up` runs.
FAIL=${FAIL:-portolan demo fail} RECOVER=${RECOVER:-portolan demo recover}

healthy() {
    [ "$(kubectl get clusterprofile "$1" -n $namespace \
        -o jsonpath='{.status.conditions[?(@.type=="ControlPlaneHealthy")].status}')" = "$2" ]
}
withdrawn() { # the hub asks for it no longer: the work is gone, or is going as soon as its cluster can be reached
    state=$(kubectl get work $namespace.db -n "$1" --ignore-not-found \
        -o jsonpath='{.metadata.name} {.metadata.deletionTimestamp}') || return 1
    case $state in "" | *Z) ;; *) return 1 ;; esac
}
gone_or_silent() { has_not "$1" deployment/db || ! member "$1" get --raw /version; }
clean_more() { $RECOVER $primary >/dev/null; }

program_ready "${DR_CONTROLLER:-}" dr-controller # a good hundred lines of Rust beside this script
begin "Story 3: disaster recovery"

step "A DR controller decides for the healthy primary; no scheduler is asked"
kubectl apply -f "$here/inventory.yaml" -f "$here/database.yaml"
for one in $primary $standby; do
    eventually "the inventory says that $one is healthy" healthy "$one" True
done
background program "${DR_CONTROLLER:-}" dr-controller $namespace $key $primary $standby
eventually "the decision is for $primary" decided_is $key $primary
eventually "the database is on $primary alone" exactly_on deployment/db $primary
eventually "it is available there" available deployment/db $primary
kubectl get $decisions -n $namespace -l $KEY=$key \
    -o custom-columns='DECISION:.metadata.name,SCHEDULER:.schedulerName,CLUSTERS:.decisions[*].clusterProfileRef.name'

step "$primary fails"
$FAIL $primary
eventually "the inventory says that $primary is ill" healthy $primary False
eventually "the decision is for $standby" decided_is $key $standby
eventually "the database is available on $standby" available deployment/db $standby
eventually "it is withdrawn from $primary" withdrawn $primary
eventually "it is not on $primary any more, or nothing answers there" gone_or_silent $primary

step "$primary recovers, and the controller fails back"
$RECOVER $primary
eventually "the decision is for $primary" decided_is $key $primary
eventually "the database is on $primary alone" exactly_on deployment/db $primary
eventually "it is available there" available deployment/db $primary
