#!/bin/sh
# A generator in the manner of an ApplicationSet: it decides where an application goes, publishes that as a standard
# PlacementDecision, and makes an application of every cluster that the same decision names.
#
#   generate.sh NAMESPACE KEY SELECTOR APPLICATION.yaml
#
# The two halves share nothing but the decision. Anybody else may read it too, and the second half would follow anybody's.
set -eu
namespace=$1 key=$2 selector=$3 application=$4
decisions=placementdecisions.multicluster.x-k8s.io

produce() { # the placement logic: every cluster of the inventory that the selector matches
    clusters=$(kubectl get clusterprofiles -n "$namespace" -l "$selector" \
        -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}')
    number=$(printf '%s\n' "$clusters" | wc -w)
    # An empty inventory is more likely a mistake than a wish, and a slice holds a hundred.
    if [ "$number" -lt 1 ] || [ "$number" -gt 100 ]; then
        echo "$selector matches $number clusters; accepted: 1 to 100. The decision stays as it is" >&2
        exit 1
    fi
    {
        cat <<YAML
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: PlacementDecision
metadata:
  name: $key-0
  namespace: $namespace
  labels:
    multicluster.x-k8s.io/placement-key: $key
    multicluster.x-k8s.io/decision-key: $key
    multicluster.x-k8s.io/decision-index: "0"
schedulerName: application-set
decisions:
YAML
        for cluster in $clusters; do
            echo "- {clusterProfileRef: {name: $cluster}, reason: \"matches $selector\"}"
        done
    } | kubectl apply -f -
}

consume() { # one application for each cluster of the decision, and none anywhere else
    clusters=$(kubectl get "$decisions" -n "$namespace" -l "multicluster.x-k8s.io/placement-key=$key" \
        -o jsonpath='{range .items[*]}{range .decisions[*]}{.clusterProfileRef.name}{"\n"}{end}{end}')
    for cluster in $clusters; do
        sed "s/{{cluster}}/$cluster/g" "$application"
        echo ---
    done | kubectl apply -f -
    made=$(kubectl get works --all-namespaces -l "example.com/generated-by=$key" \
        -o jsonpath='{range .items[*]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}')
    for one in $made; do
        cluster=${one%%/*}
        printf '%s\n' "$clusters" | grep -qx "$cluster" && continue
        kubectl delete work "${one#*/}" -n "$cluster" --wait=false
    done
}

produce
consume
