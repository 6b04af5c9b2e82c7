#!/bin/sh
# Story 1: a training job goes where GPUs are free and cheap, and moves when that changes.
set -eu
here=$(dirname "$0")
namespace=story-training
. "$here/../lib.sh"

key=training-job-resnet50-123
members="member-2 member-4 member-6" # those with GPUs

free() { # a member says how many of its GPUs are free
    member "$1" apply -f - >/dev/null <<YAML
apiVersion: about.k8s.io/v1beta1
kind: ClusterProperty
metadata: {name: free-gpus.example.com}
spec: {value: "$2"}
YAML
    say "   $1 has $2 GPUs free"
}
price() { # somebody who watches the market says how good the price of a cluster is, from -100 to 100
    kubectl apply -f - >/dev/null <<YAML
apiVersion: cluster.open-cluster-management.io/v1alpha1
kind: AddOnPlacementScore
metadata: {name: market, namespace: $1}
YAML
    kubectl patch addonplacementscore market -n "$1" --subresource=status --type=merge \
        -p "{\"status\": {\"scores\": [{\"name\": \"price\", \"value\": $2}]}}" >/dev/null
    say "   the price at $1 scores $2"
}
clean_more() {
    for one in $members; do
        member "$one" delete crd clusterproperties.about.k8s.io --ignore-not-found >/dev/null
        kubectl delete addonplacementscore market -n "$one" --ignore-not-found >/dev/null
    done
}
runs_on() {
    eventually "the decision $key is for $1" decided_is $key "$1"
    eventually "the job is on $1 and on no other member" exactly_on job/resnet50 "$1"
    eventually "it is running there" running "$1"
}
running() { [ "$(member "$1" get job/resnet50 -n default -o jsonpath='{.status.active}')" = 1 ]; }

begin "Story 1: GPU-aware training"

step "Clusters and a market say what they have to offer"
for one in $members; do
    member "$one" apply -f "$here/about-api.yaml" >/dev/null
    member "$one" wait --for=condition=Established crd/clusterproperties.about.k8s.io --timeout=60s >/dev/null
done
free member-2 64
free member-4 48
free member-6 40
price member-2 80
price member-4 80
price member-6 60

step "A user asks for a cluster, and a job has the same placement-key"
kubectl apply -f "$here/placement.yaml" -f "$here/job.yaml"
runs_on member-2

step "The GPUs of member-2 are taken: its property and its score fall"
free member-2 8
runs_on member-4

step "The price of member-4 rises: its add-on score falls"
price member-4 -100
runs_on member-6

step "Why not member-4 any more"
portolan explain --placement $namespace/training --cluster member-4
