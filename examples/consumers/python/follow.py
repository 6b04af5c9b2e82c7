"""Follows one decision with the stock Python client and prints what changes.

    follow.py KUBECONFIG NAMESPACE DECISION-KEY

Prints a JSON object a line: {"add": cluster}, {"remove": cluster}, {"empty": true}, {"gone": true}. It goes by revisions:
half an update is never acted on. Needs the package `kubernetes` and the right to list and watch PlacementDecisions.
"""

import json
import sys
import time

from kubernetes import client, config, watch

KEY = "multicluster.x-k8s.io/decision-key"
INDEX = "multicluster.x-k8s.io/decision-index"
REVISION = "multicluster.x-k8s.io/decision-revision"
COUNT = "multicluster.x-k8s.io/decision-slice-count"


def clusters(slices):
    """The clusters of some slices, each once: (namespace, name). An entry without a namespace means the slice's own."""
    found = set()
    for item in slices:
        own = item["metadata"]["namespace"]
        for entry in item.get("decisions") or []:
            reference = entry.get("clusterProfileRef") or {"name": entry.get("clusterName")}
            if reference.get("name"):
                found.add((reference.get("namespace") or own, reference["name"]))
    return found


def assemble(slices):
    """What to act on: the highest whole revision, or the union where there are none. None while no revision is whole."""
    revisions = {}
    for item in slices:
        labels = item["metadata"].get("labels", {})
        if labels.get(REVISION, "").isdigit():
            revisions.setdefault(int(labels[REVISION]), []).append((labels.get(COUNT), labels.get(INDEX), item))
    if not revisions:
        return clusters(slices)
    for revision in sorted(revisions, reverse=True):
        parts = revisions[revision]
        counts = {count for count, _, _ in parts}
        indexes = sorted(int(index) for _, index, _ in parts if (index or "").isdigit())
        if counts == {str(len(parts))} and indexes == list(range(len(parts))):
            return clusters(item for _, _, item in parts)
    return None


def say(**what):
    print(json.dumps(what), flush=True)


class Consumer:
    def __init__(self):
        self.told = None  # nothing decided yet, which is not the same as decided for none

    def look(self, slices):
        """Tells the difference between what was told and what the slices say now."""
        if not slices:
            for cluster in sorted(self.told or ()):
                say(remove="/".join(cluster))
            if self.told is not None:
                say(gone=True)
            self.told = None
            return
        now = assemble(slices)
        if now is None:
            return  # half an update: keep what there is
        before = self.told or set()
        for cluster in sorted(before - now):
            say(remove="/".join(cluster))
        for cluster in sorted(now - before):
            say(add="/".join(cluster))
        if not now and self.told != now:
            say(empty=True)
        self.told = now


def main(kubeconfig, namespace, key):
    api = client.CustomObjectsApi(config.new_client_from_config(kubeconfig))
    where = dict(group="multicluster.x-k8s.io", version="v1alpha1", namespace=namespace, plural="placementdecisions")
    where["label_selector"] = f"{KEY}={key}"
    consumer = Consumer()
    while True:
        # A list is everything there is; a watch that breaks is no news about what is gone.
        try:
            listed = api.list_namespaced_custom_object(**where)
            slices = {item["metadata"]["name"]: item for item in listed["items"]}
            consumer.look(list(slices.values()))
            version = listed["metadata"]["resourceVersion"]
            for event in watch.Watch().stream(api.list_namespaced_custom_object, resource_version=version, **where):
                name = event["object"]["metadata"]["name"]
                if event["type"] == "DELETED":
                    slices.pop(name, None)
                else:
                    slices[name] = event["object"]
                consumer.look(list(slices.values()))
        except Exception as error:  # the server is away or the version too old: list anew
            print(f"listing anew: {error}", file=sys.stderr)
            time.sleep(0.5)


if __name__ == "__main__":
    main(*sys.argv[1:])
