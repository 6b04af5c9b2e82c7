#!/bin/sh
# Story 4: one tool decides where its applications go and acts on its own decision, through the standard object.
set -eu
here=$(dirname "$0")
namespace=story-frontend
. "$here/../lib.sh"

key=frontend-app-prod
set_label=cluster.open-cluster-management.io/clusterset
production="member-1 member-2 member-4 member-5"

generate() { "$here/generate.sh" $namespace $key multicluster.x-k8s.io/clusterset=production "$here/application.yaml"; }
inventory_is() {
    [ "$(kubectl get clusterprofiles -n $namespace -l multicluster.x-k8s.io/clusterset=production \
        -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}' | sort | xargs)" = "$1" ]
}
deployed() {
    eventually "the decision is for $1" decided_is $key "$1"
    eventually "the application is on those and on no other member" exactly_on deployment/frontend-app "$1"
    eventually "it is available there" available deployment/frontend-app "$1"
}
clean_more() {
    kubectl label managedcluster member-3 $set_label=staging --overwrite >/dev/null
    kubectl delete works --all-namespaces -l example.com/generated-by=$key --timeout="${PATIENCE}s" >/dev/null
}

begin "Story 4: produce and consume"
kubectl apply -f "$here/inventory.yaml"
eventually "the inventory has $production in production" inventory_is "$production"

step "The generator decides for clusters in production, one application each"
generate
deployed "$production"

step "member-3 goes into production"
kubectl label managedcluster member-3 $set_label=production --overwrite
eventually "the inventory knows" inventory_is "member-1 member-2 member-3 member-4 member-5"
generate
deployed "member-1 member-2 member-3 member-4 member-5"

step "member-3 leaves production"
kubectl label managedcluster member-3 $set_label=staging --overwrite
eventually "the inventory knows" inventory_is "$production"
generate
deployed "$production"
