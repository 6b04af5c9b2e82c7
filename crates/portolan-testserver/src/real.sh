# Runs a real API server in folder $1 from the programs in $2 until standard input ends, which it does when the test
# process is gone for whatever reason: nothing is left behind, not even after a kill -9.
# $3 etcd's client port, $4 etcd's peer port, $5 the API server's port
set -u
cd "$1" || exit 1
etcd=http://127.0.0.1:$3
peer=http://127.0.0.1:$4
# Its data is thrown away with the server, so nothing waits for the disk.
"$2/etcd" --data-dir etcd --unsafe-no-fsync --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" </dev/null >etcd.log 2>&1 &
pids=$!
"$2/kube-apiserver" --etcd-servers="$etcd" --bind-address=127.0.0.1 --secure-port="$5" --cert-dir=certs \
    --tls-cert-file=server.crt --tls-private-key-file=server.key --client-ca-file=ca.crt \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file=account.pub \
    --service-account-signing-key-file=account.key --authorization-mode=RBAC --service-cluster-ip-range=10.0.0.0/24 \
    --disable-admission-plugins=ServiceAccount </dev/null >kube-apiserver.log 2>&1 &
pids="$pids $!"
echo "$pids" >pids
# The first line says that the API server is ready, and how the controllers of its version are to be called.
if read -r flags; then
    if [ -x "$2/kube-controller-manager" ]; then
        # shellcheck disable=SC2086 # several flags
        "$2/kube-controller-manager" --kubeconfig=kubeconfig --leader-elect=false \
            --controllers=garbagecollector,namespace,clusterrole-aggregation $flags \
            </dev/null >kube-controller-manager.log 2>&1 &
        pids="$pids $!"
    fi
    cat >/dev/null
fi
# shellcheck disable=SC2086 # several processes
kill -9 $pids
wait
cd / && rm -rf "$1"
