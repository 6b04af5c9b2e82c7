"""What the Python client does with a server: argv is kubeconfig, namespace, group of the widgets."""

import sys
import threading

from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException

kubeconfig, namespace, group = sys.argv[1:]
config.load_kube_config(kubeconfig)
core = client.CoreV1Api()
custom = client.CustomObjectsApi()


def refused(code, reason, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except ApiException as error:
        assert error.status == code and f'"reason":"{reason}"' in error.body, error
    else:
        raise AssertionError(f"{call.__name__} was not refused")


def config_maps():
    body = {"metadata": {"name": "p", "labels": {"app": "web"}}, "data": {"key": "1"}}
    made = core.create_namespaced_config_map(namespace, body)
    assert made.metadata.uid and made.data == {"key": "1"}
    refused(409, "AlreadyExists", core.create_namespaced_config_map, namespace, body)
    read = core.read_namespaced_config_map("p", namespace)
    assert read == made, read

    read.data["key"] = "2"
    replaced = core.replace_namespaced_config_map("p", namespace, read)
    assert replaced.metadata.resource_version != made.metadata.resource_version
    refused(409, "Conflict", core.replace_namespaced_config_map, "p", namespace, read)
    patched = core.patch_namespaced_config_map("p", namespace, {"data": {"more": "3"}})
    assert patched.data == {"key": "2", "more": "3"}

    core.create_namespaced_config_map(namespace, {"metadata": {"name": "q"}})
    listed = core.list_namespaced_config_map(namespace)
    assert [item.metadata.name for item in listed.items] == ["p", "q"]
    listed = core.list_namespaced_config_map(namespace, label_selector="app=web")
    assert [item.metadata.name for item in listed.items] == ["p"]
    page = core.list_namespaced_config_map(namespace, limit=1)
    assert page.metadata._continue
    rest = core.list_namespaced_config_map(namespace, limit=1, _continue=page.metadata._continue)
    assert [item.metadata.name for item in page.items + rest.items] == ["p", "q"]

    core.delete_namespaced_config_map("p", namespace)
    refused(404, "NotFound", core.read_namespaced_config_map, "p", namespace)
    core.delete_collection_namespaced_config_map(namespace)
    assert core.list_namespaced_config_map(namespace).items == []


def widgets():
    place = (group, "v1", namespace, "widgets")
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    made = custom.create_namespaced_custom_object(*place, body)
    assert made["spec"] == {"size": 1, "colour": "red"}, made
    invalid = dict(body, metadata={"name": "x"}, spec={"size": -1})
    refused(422, "Invalid", custom.create_namespaced_custom_object, *place, invalid)
    made["spec"]["size"] = 2
    replaced = custom.replace_namespaced_custom_object(*place, "w", made)
    assert replaced["metadata"]["generation"] == 2
    refused(409, "Conflict", custom.replace_namespaced_custom_object, *place, "w", made)
    patched = custom.patch_namespaced_custom_object(*place, "w", {"spec": {"size": 3}})
    assert patched["spec"]["size"] == 3
    patched = custom.patch_namespaced_custom_object_status(*place, "w", {"status": {"size": 3}})
    assert patched["status"] == {"size": 3} and patched["metadata"]["generation"] == 3
    listed = custom.list_namespaced_custom_object(*place)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["w"]
    custom.delete_namespaced_custom_object(*place, "w")
    refused(404, "NotFound", custom.get_namespaced_custom_object, *place, "w")


def watches():
    version = core.list_namespaced_config_map(namespace).metadata.resource_version

    def change():
        core.create_namespaced_config_map(namespace, {"metadata": {"name": "seen"}})
        core.patch_namespaced_config_map("seen", namespace, {"data": {"key": "1"}})
        core.delete_namespaced_config_map("seen", namespace)

    threading.Thread(target=change).start()
    seen = []
    stream = watch.Watch()
    for event in stream.stream(core.list_namespaced_config_map, namespace, resource_version=version):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 3:
            stream.stop()
    assert seen == [("ADDED", "seen"), ("MODIFIED", "seen"), ("DELETED", "seen")], seen

    place = (group, "v1", namespace, "widgets")
    version = custom.list_namespaced_custom_object(*place)["metadata"]["resourceVersion"]
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "s"}, "spec": {"size": 1}}
    custom.create_namespaced_custom_object(*place, body)
    stream = watch.Watch()
    for event in stream.stream(custom.list_namespaced_custom_object, *place, resource_version=version):
        assert event["type"] == "ADDED" and event["object"]["metadata"]["name"] == "s", event
        stream.stop()


def applies():
    """The dynamic client finds kinds by discovery and applies."""
    api = dynamic.DynamicClient(client.ApiClient())
    kind = api.resources.get(api_version=f"{group}/v1", kind="Widget")
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}}
    apply = {"namespace": namespace, "name": "a", "field_manager": "python"}
    assert kind.server_side_apply(body=body, **apply).spec.size == 1
    body["spec"]["size"] = 2
    assert kind.server_side_apply(body=body, **apply).spec.size == 2
    assert kind.get(namespace=namespace, name="a").metadata.managedFields[0].manager == "python"


config_maps()
widgets()
watches()
applies()
print("everything held")
