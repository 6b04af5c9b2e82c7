#!/bin/sh
# Story 2: version 2 goes to 10 % of the fleet, then to half of it, then to all. One decision grows; nothing is replaced.
set -eu
here=$(dirname "$0")
namespace=story-release
. "$here/../lib.sh"

key=my-service-v2.0-canary

# The rollout controller of this story: it turns a share of the fleet into a request, and goes on when all are well.
request() { # percent of the fleet, rounded up
    clusters=$(((size * $1 + 99) / 100))
    kubectl patch placement my-service-v2 -n $namespace --type=merge -p "{\"spec\": {\"numberOfClusters\": $clusters}}"
    eventually "the decision has $clusters of $size clusters" decided_number "$clusters"
    chosen=$(decided $key)
    say "   $chosen"
    eventually "version 2 is on those and on no other member" exactly_on deployment/my-service-v2 "$chosen"
    eventually "version 2 is available there" available deployment/my-service-v2 "$chosen"
}
decided_number() { [ "$(decided $key | wc -w)" = "$1" ]; }
objects() { kubectl get $decisions -n $namespace -l $KEY=$key -o jsonpath='{.items[*].metadata.uid}'; }
keeps() { # everybody of an earlier step is still there, and the decision is the same object
    for one in $1; do
        case " $chosen " in *" $one "*) ;; *) fail "$one had version 2 and lost it: $chosen" ;; esac
    done
    [ "$(objects)" = "$2" ] || fail "the decision is another object: $(objects) instead of $2"
    say "   still the same decision, and nobody lost version 2"
}

begin "Story 2: progressive rollout"
size=$(echo "$fleet" | wc -w)

step "Version 1 is everywhere, version 2 on 10 % of the fleet"
kubectl apply -f "$here/release.yaml"
eventually "version 1 is on all $size members" exactly_on deployment/my-service-v1 "$fleet"
request 10
canaries=$chosen
uid=$(objects)

step "The canaries are well: 50 %"
request 50
keeps "$canaries" "$uid"
half=$chosen

step "Half of the fleet is well: all of it"
request 100
keeps "$half" "$uid"

step "Version 1 is no longer needed"
kubectl delete work my-service-v1 -n $namespace
eventually "version 1 is on no member any more" nowhere deployment/my-service-v1
