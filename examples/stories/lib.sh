# What the five stories share. A story sets `namespace`, sources this file and starts with `begin`.
#
# KUBECONFIG is the hub and `members.kubeconfig` beside it, or the file that MEMBERS names, has a context for each
# member: as `portolan up --spokes 6` writes them. PORTOLAN, DR_CONTROLLER and DEPLOY name programs that were built
# before; without them cargo runs what is in this checkout.

: "${KUBECONFIG:?is to name the kubeconfig of a hub, such as the one that portolan up --spokes 6 writes}"
export KUBECONFIG
MEMBERS=${MEMBERS:-$(dirname "$KUBECONFIG")/members.kubeconfig}
# How many seconds an outcome may take. They take two or three; a busy machine takes longer.
PATIENCE=${PATIENCE:-120}
KEY=multicluster.x-k8s.io/placement-key
decisions=placementdecisions.multicluster.x-k8s.io
started=$(date +%s)

portolan() { if [ -n "${PORTOLAN:-}" ]; then command "$PORTOLAN" "$@"; else cargo run --quiet -- "$@"; fi; }

member() { # a member, then a command of kubectl there
    context=$1
    shift
    kubectl --kubeconfig "$MEMBERS" --context "$context" "$@"
}

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }

fail() {
    printf '\nFAILED: %s\n' "$*" >&2
    exit 1
}

# Waits for an outcome: words that say it, then a command that succeeds once it is there.
eventually() {
    patiently "$@"
    say "   $1"
}
patiently() { # the same without a word
    what=$1
    shift
    until=$(($(date +%s) + PATIENCE))
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$until" ] || in_vain "$what"
        sleep 0.2
    done
}
in_vain() {
    printf '\n%s\n' "The decisions in $namespace, and all works:" >&2
    kubectl get "$decisions" -n "$namespace" \
        -o jsonpath='{range .items[*]}{.metadata.name}: {.decisions[*].clusterProfileRef.name}{"\n"}{end}' >&2 || true
    kubectl get works --all-namespaces >&2 || true
    fail "not so after $PATIENCE seconds: $1"
}

# The clusters of a decision, by its placement-key: one line, sorted.
decided() {
    kubectl get "$decisions" -n "$namespace" -l "$KEY=$1" \
        -o jsonpath='{range .items[*]}{range .decisions[*]}{.clusterProfileRef.name}{"\n"}{end}{end}' | sort | xargs
}
decided_is() { [ "$(decided "$1")" = "$2" ]; }

# Whether a member has an object such as deployment/web. A member that does not answer has neither.
has() { member "$1" get "$2" -n default >/dev/null 2>&1; }
has_not() { found=$(member "$1" get "$2" -n default --ignore-not-found -o name 2>/dev/null) && [ -z "$found" ]; }

# An object is on exactly these members of the fleet.
exactly_on() {
    for place in $fleet; do
        case " $2 " in
        *" $place "*) has "$place" "$1" || return 1 ;;
        *) has_not "$place" "$1" || return 1 ;;
        esac
    done
}
nowhere() { exactly_on "$1" ""; }

# A Deployment is available on each of these members.
available() {
    for place in $2; do
        [ "$(member "$place" get "$1" -n default -o jsonpath='{.status.conditions[?(@.type=="Available")].status}')" = True ] ||
            return 1
    done
}

# Nothing is left of this story: no work that was made for it, here and on the members.
nothing_left() {
    left=$(kubectl get works --all-namespaces -o name) || return 1
    case $left in *"/$namespace."*) return 1 ;; esac
    left=$(kubectl get namespace "$namespace" --ignore-not-found -o name) && [ -z "$left" ]
}

# An example program of this checkout: its path if somebody built it before, its name, then its arguments. It is built
# before the story begins, so that nothing waits for a compiler.
program_ready() { if [ -z "$1" ]; then say "building $2, which takes minutes the first time" && cargo build --quiet --example "$2"; fi; }
program() {
    path=$1 name=$2
    shift 2
    if [ -n "$path" ]; then exec "$path" "$@"; fi
    exec cargo run --quiet --example "$name" -- "$@"
}

pids=
background() { # a program that runs as long as the story does
    "$@" &
    pids="$pids $!"
}

begin() { # the name of the story
    say "$1"
    [ -f "$MEMBERS" ] || fail "there is no $MEMBERS; MEMBERS may name another file with a context for each member"
    kubectl get --raw /readyz --request-timeout=5s >/dev/null 2>&1 ||
        fail "the hub that $KUBECONFIG names does not answer; is portolan up --spokes 6 running?"
    fleet=$(kubectl --kubeconfig "$MEMBERS" config get-contexts -o name | sort | xargs) # all members
    [ "$(echo "$fleet" | wc -w)" -ge 6 ] || fail "this story needs six members, such as portolan up --spokes 6 starts"
    trap 'ended' EXIT
    trap 'exit 130' INT TERM
    clean # what an earlier run may have left
    kubectl create namespace "$namespace" >/dev/null
}

clean() { # a story may do more: it then defines `clean_more`
    if command -v clean_more >/dev/null; then clean_more; fi
    kubectl delete namespace "$namespace" --ignore-not-found --timeout="${PATIENCE}s" >/dev/null
    patiently "nothing is left of $namespace" nothing_left
}

ended() {
    code=$?
    trap - EXIT
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    clean || code=1
    [ "$code" = 0 ] && say "" && say "all of it is cleaned up again; that took $(($(date +%s) - started)) seconds"
    exit "$code"
}
