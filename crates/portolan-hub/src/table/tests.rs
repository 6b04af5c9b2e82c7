//! Tables of CustomResourceDefinitions and built-in kinds.

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::jsonpath::Budget;
use super::*;

fn now() -> Timestamp {
    "2026-11-15T00:05:12Z".parse().unwrap()
}

/// Names of the columns; those of the wide output in parentheses.
fn names(columns: &Columns) -> String {
    let definitions = columns.definitions();
    let name = |column: &Value| match column["priority"].as_i64() {
        Some(0) => column["name"].as_str().unwrap().to_owned(),
        _ => format!("({})", column["name"].as_str().unwrap()),
    };
    definitions
        .as_array()
        .unwrap()
        .iter()
        .map(name)
        .collect::<Vec<_>>()
        .join(" ")
}

fn crd(columns: Value) -> Columns {
    Columns::of_crd_version(&json!({"additionalPrinterColumns": columns})).unwrap()
}

#[test]
fn a_crd_without_columns_shows_name_and_age() {
    let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-11-15T00:00:00Z"}});
    for version in [
        json!({}),
        json!({"additionalPrinterColumns": []}),
        json!({"additionalPrinterColumns": null}),
    ] {
        let columns = Columns::of_crd_version(&version).unwrap();
        assert_eq!(names(&columns), "Name Age");
        assert_eq!(
            json!(columns.cells(&object, now(), &mut Budget::of_table())),
            json!(["a", "5m12s"])
        );
    }
}

#[test]
fn the_columns_of_a_crd_are_shown_with_type_priority_and_description() {
    let columns = crd(json!([
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
        {"name": "Clusters", "type": "integer", "jsonPath": ".status.count", "format": "int32", "description": "How many"},
        {"name": "Since", "type": "date", "jsonPath": ".status.since", "priority": 1},
        {"name": "First", "type": "string", "jsonPath": ".status.names[0]"},
    ]));
    let definition = |name, kind, format, description, priority| json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority});
    let path = |path: &str| format!("Custom resource definition column (in JSONPath format): {path}");
    let definitions = columns.definitions();
    assert_eq!(
        definitions.as_array().unwrap()[1..],
        [
            definition(
                "Ready",
                "string",
                "",
                path(".status.conditions[?(@.type==\"Ready\")].status"),
                0
            ),
            definition("Clusters", "integer", "int32", "How many".to_owned(), 0),
            definition("Since", "date", "", path(".status.since"), 1),
            definition("First", "string", "", path(".status.names[0]"), 0),
        ]
    );
    let full = json!({
        "metadata": {"name": "a"},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "count": 3,
            "since": "2026-11-12T00:00:00Z",
            "names": ["x", "y"],
        },
    });
    assert_eq!(
        json!(columns.cells(&full, now(), &mut Budget::of_table())),
        json!(["a", "True", 3, "3d", "x"])
    );
    let empty = json!({"metadata": {"name": "b"}, "status": {"names": []}});
    assert_eq!(
        json!(columns.cells(&empty, now(), &mut Budget::of_table())),
        json!(["b", null, null, null, null])
    );
}

#[test]
fn columns_that_cannot_work_are_refused() {
    for (column, says) in [
        (
            json!({"name": "A", "type": "string", "jsonPath": ".a["}),
            "unrecognized column definition \".a[\"",
        ),
        (
            json!({"name": "A", "type": "string"}),
            "additionalPrinterColumns[0] needs",
        ),
        (
            json!({"name": "", "type": "string", "jsonPath": ".a"}),
            "additionalPrinterColumns[0] needs",
        ),
        (json!("A"), "additionalPrinterColumns[0] needs"),
    ] {
        let error = Columns::of_crd_version(&json!({"additionalPrinterColumns": [column]})).unwrap_err();
        assert!(error.to_string().starts_with(says), "{error}");
    }
}

#[test]
fn a_table_carries_what_was_asked_of_its_objects() {
    let object =
        json!({"apiVersion": "v1", "kind": "Role", "metadata": {"name": "a", "uid": "u"}, "rules": []});
    let columns = Columns::of_builtin("rbac.authorization.k8s.io", "Role");
    let table = |include: &str, headers| {
        let include = include.parse().unwrap();
        let metadata = json!({"resourceVersion": "7"});
        render(
            &columns,
            Version::V1,
            metadata,
            [&object],
            include,
            headers,
            now(),
        )
    };
    for (include, expected) in [
        ("None", json!(null)),
        ("Object", object.clone()),
        (
            "Metadata",
            json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a", "uid": "u"}}),
        ),
        (
            "",
            json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a", "uid": "u"}}),
        ),
    ] {
        let table = table(include, Headers::Omit);
        let expected = json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "7"},
            "columnDefinitions": null, "rows": [{"cells": ["a", null], "object": expected}],
        });
        assert_eq!(table, expected, "{include}");
    }
    assert_eq!(
        table("None", Headers::Show)["columnDefinitions"],
        columns.definitions()
    );
    let error = "none".parse::<IncludeObject>().unwrap_err();
    assert_eq!(error.to_string(), "unrecognized includeObject value: \"none\"");
}

#[test]
fn built_in_kinds_have_the_columns_of_kubernetes() {
    let created = "2026-11-15T00:00:00Z";
    let meta = json!({"name": "x", "creationTimestamp": created});
    let containers = json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:2"}]);
    let selector = json!({"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [
        {"key": "env", "operator": "In", "values": ["q", "p"]}, {"key": "old", "operator": "DoesNotExist"},
    ]});
    let template = json!({"spec": {"containers": containers, "nodeSelector": {"disk": "ssd"}}});
    for (group, kind, object, header, cells) in [
        (
            "",
            "Namespace",
            json!({"status": {"phase": "Active"}}),
            "Name Status Age",
            json!(["x", "Active", "5m12s"]),
        ),
        (
            "",
            "ConfigMap",
            json!({"data": {"a": "", "b": ""}, "binaryData": {"c": ""}}),
            "Name Data Age",
            json!(["x", 3, "5m12s"]),
        ),
        (
            "",
            "Secret",
            json!({"type": "Opaque", "data": {"a": ""}}),
            "Name Type Data Age",
            json!(["x", "Opaque", 1, "5m12s"]),
        ),
        (
            "",
            "ServiceAccount",
            json!({}),
            "Name Secrets Age",
            json!(["x", 0, "5m12s"]),
        ),
        (
            "coordination.k8s.io",
            "Lease",
            json!({"spec": {"holderIdentity": "me"}}),
            "Name Holder Age",
            json!(["x", "me", "5m12s"]),
        ),
        (
            "rbac.authorization.k8s.io",
            "ClusterRole",
            json!({}),
            "Name Created At",
            json!(["x", created]),
        ),
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            json!({}),
            "Name Created At",
            json!(["x", created]),
        ),
        (
            "rbac.authorization.k8s.io",
            "RoleBinding",
            json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [
                {"kind": "User", "name": "ann"}, {"kind": "User", "name": "bob"}, {"kind": "Group", "name": "devs"},
                {"kind": "ServiceAccount", "name": "robot", "namespace": "ns"},
            ]}),
            "Name Role Age (Users) (Groups) (ServiceAccounts)",
            json!(["x", "Role/r", "5m12s", "ann, bob", "devs", "ns/robot"]),
        ),
        (
            "apps",
            "Deployment",
            json!({"spec": {"replicas": 3, "template": template, "selector": selector}, "status": {"readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2}}),
            "Name Ready Up-to-date Available Age (Containers) (Images) (Selector)",
            json!([
                "x",
                "2/3",
                1,
                2,
                "5m12s",
                "a,b",
                "a:1,b:2",
                "!old,a=1,b=2,env in (p,q)"
            ]),
        ),
        (
            "apps",
            "StatefulSet",
            json!({"spec": {"replicas": 0}}),
            "Name Ready Age (Containers) (Images)",
            json!(["x", "0/0", "5m12s", "", ""]),
        ),
        (
            "apps",
            "DaemonSet",
            json!({"spec": {"template": template}, "status": {"desiredNumberScheduled": 4, "numberReady": 3}}),
            "Name Desired Current Ready Up-to-date Available Node Selector Age (Containers) (Images) (Selector)",
            json!([
                "x", 4, 0, 3, 0, 0, "disk=ssd", "5m12s", "a,b", "a:1,b:2", "<none>"
            ]),
        ),
        (
            "apps",
            "ReplicaSet",
            json!({"spec": {"replicas": 2}}),
            "Name Desired Current Ready Age (Containers) (Images) (Selector)",
            json!(["x", 2, 0, 0, "5m12s", "", "", "<none>"]),
        ),
        (
            "",
            "Service",
            json!({"spec": {"type": "NodePort", "clusterIP": "10.0.0.1", "selector": {"app": "x"}, "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}}),
            "Name Type Cluster-IP External-IP Port(s) Age (Selector)",
            json!([
                "x",
                "NodePort",
                "10.0.0.1",
                "<none>",
                "80:30080/TCP,53/UDP",
                "5m12s",
                "app=x"
            ]),
        ),
        (
            "batch",
            "Job",
            json!({"spec": {"completions": 3, "template": template}, "status": {"succeeded": 1, "startTime": created, "completionTime": "2026-11-15T00:01:00Z", "conditions": [{"type": "Complete", "status": "True"}]}}),
            "Name Status Completions Duration Age (Containers) (Images) (Selector)",
            json!(["x", "Complete", "1/3", "60s", "5m12s", "a,b", "a:1,b:2", "<none>"]),
        ),
        (
            "batch",
            "Job",
            json!({"spec": {"parallelism": 4}}),
            "Name Status Completions Duration Age (Containers) (Images) (Selector)",
            json!(["x", "Running", "0/1 of 4", "", "5m12s", "", "", "<none>"]),
        ),
        (
            "batch",
            "CronJob",
            json!({"spec": {"schedule": "0 3 * * *", "suspend": false}, "status": {"active": [{}], "lastScheduleTime": created}}),
            "Name Schedule Timezone Suspend Active Last Schedule Age (Containers) (Images) (Selector)",
            json!([
                "x",
                "0 3 * * *",
                "<none>",
                "False",
                1,
                "5m12s",
                "5m12s",
                "",
                "",
                "<none>"
            ]),
        ),
        (
            "",
            "Pod",
            json!({"spec": {"containers": containers, "nodeName": "n1"}, "status": {"phase": "Running", "podIP": "10.1.1.1", "containerStatuses": [{"ready": true, "restartCount": 2}, {"ready": false, "restartCount": 1, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}}),
            "Name Ready Status Restarts Age (IP) (Node) (Nominated Node) (Readiness Gates)",
            json!([
                "x",
                "1/2",
                "CrashLoopBackOff",
                "3",
                "5m12s",
                "10.1.1.1",
                "n1",
                "<none>",
                "<none>"
            ]),
        ),
    ] {
        let mut object = object;
        object["metadata"] = meta.clone();
        let columns = Columns::of_builtin(group, kind);
        assert_eq!(names(&columns), header, "{kind}");
        assert_eq!(
            json!(columns.cells(&object, now(), &mut Budget::of_table())),
            cells,
            "{kind}"
        );
    }
}

#[test]
fn external_addresses_depend_on_the_type_of_a_service() {
    let ingress = json!({"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "lb.example"}]}});
    for (spec, status, expected) in [
        (json!({"type": "ClusterIP"}), json!({}), "<none>"),
        (
            json!({"type": "ClusterIP", "externalIPs": ["9.9.9.9"]}),
            json!({}),
            "9.9.9.9",
        ),
        (json!({"type": "LoadBalancer"}), json!({}), "<pending>"),
        (
            json!({"type": "LoadBalancer"}),
            ingress.clone(),
            "1.2.3.4,lb.example",
        ),
        (
            json!({"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]}),
            ingress,
            "1.2.3.4,lb.example,9.9.9.9",
        ),
        (
            json!({"type": "ExternalName", "externalName": "example.org"}),
            json!({}),
            "example.org",
        ),
        (json!({}), json!({}), "<unknown>"),
    ] {
        let object = json!({"metadata": {"name": "x"}, "spec": spec, "status": status});
        assert_eq!(
            Columns::of_builtin("", "Service").cells(&object, now(), &mut Budget::of_table())[3],
            json!(expected),
            "{object}"
        );
    }
}

#[test]
fn events_of_both_groups_look_alike() {
    let header = "Last Seen Type Reason Object (Subobject) (Source) Message (First Seen) (Count) (Name)";
    let core = json!({
        "metadata": {"name": "e"}, "type": "Warning", "reason": "Failed", "message": " no space \n", "count": 4,
        "involvedObject": {"kind": "Pod", "name": "web", "fieldPath": "spec"}, "source": {"component": "kubelet", "host": "n1"},
        "firstTimestamp": "2026-11-15T00:00:00Z", "lastTimestamp": "2026-11-15T00:05:00Z",
    });
    let series = json!({
        "metadata": {"name": "e"}, "type": "Normal", "reason": "Placed", "note": "on c1", "regarding": {"kind": "Placement"},
        "eventTime": "2026-11-15T00:00:00.000000Z", "reportingController": "portolan", "reportingInstance": "p-0",
        "series": {"count": 2, "lastObservedTime": "2026-11-15T00:05:00.000000Z"},
    });
    for (group, object, cells) in [
        (
            "",
            &core,
            json!([
                "12s",
                "Warning",
                "Failed",
                "pod/web",
                "spec",
                "kubelet, n1",
                "no space",
                "5m12s",
                4,
                "e"
            ]),
        ),
        (
            "events.k8s.io",
            &series,
            json!([
                "12s",
                "Normal",
                "Placed",
                "placement",
                "",
                "portolan, p-0",
                "on c1",
                "5m12s",
                3,
                "e"
            ]),
        ),
    ] {
        let columns = Columns::of_builtin(group, "Event");
        assert_eq!(names(&columns), header);
        assert_eq!(
            json!(columns.cells(object, now(), &mut Budget::of_table())),
            cells,
            "{group}"
        );
    }
}

/// Objects of any shape, with the field names the columns look at.
fn any_object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z0-9:-]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        let key = prop::sample::select(vec![
            "metadata",
            "spec",
            "status",
            "template",
            "containers",
            "name",
            "image",
            "selector",
            "matchLabels",
            "matchExpressions",
            "conditions",
            "ports",
            "series",
            "count",
            "subjects",
            "containerStatuses",
            "restartCount",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.prop_map(str::to_owned), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn objects_of_any_shape_never_panic(object in any_object()) {
        for (group, kind) in [
            ("", "Namespace"), ("", "ConfigMap"), ("", "Secret"), ("", "ServiceAccount"), ("", "Event"), ("", "Service"),
            ("", "Pod"), ("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet"), ("apps", "ReplicaSet"),
            ("batch", "Job"), ("batch", "CronJob"), ("events.k8s.io", "Event"), ("coordination.k8s.io", "Lease"),
            ("rbac.authorization.k8s.io", "RoleBinding"), ("x", "Y"),
        ] {
            let columns = Columns::of_builtin(group, kind);
            render(&columns, Version::V1Beta1, json!({}), [&object], IncludeObject::Metadata, Headers::Show, now());
        }
    }
}

#[test]
fn the_texts_of_all_cells_of_a_table_are_limited_together() {
    let column = json!({"name": "A", "type": "string", "jsonPath": ".spec.a"});
    let columns = Columns::of_crd_version(&json!({"additionalPrinterColumns": vec![column; 101]})).unwrap();
    let object = json!({"metadata": {"name": "x"}, "spec": {"a": "x".repeat(1 << 20)}});
    let mut budget = Budget::of_table();
    let first = columns.cells(&object, now(), &mut budget);
    assert_eq!(
        first.len(),
        101,
        "with the name, and no more than may be declared"
    );
    let bytes = |cells: &[Value]| -> usize { cells.iter().filter_map(Value::as_str).map(str::len).sum() };
    assert!(bytes(&first) <= 100 * 4100, "{}", bytes(&first));
    let mut all = 0;
    for _ in 0..2_000 {
        all += bytes(&columns.cells(&object, now(), &mut budget));
    }
    assert!(all <= 321_000_000, "{all}");
    assert_eq!(columns.cells(&object, now(), &mut budget)[1], Value::Null);
}
