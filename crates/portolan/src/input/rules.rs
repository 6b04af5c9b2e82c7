//! The rules of our definitions, as a hub runs them.

use std::collections::HashMap;
use std::sync::LazyLock;

use portolan_api::FieldError;
use portolan_api::structural::Kind;
use portolan_hub::DefinitionRules;
use serde_json::Value;

/// By group, version and kind. Kinds without a rule are not in it.
static RULES: LazyLock<HashMap<[String; 3], DefinitionRules>> = LazyLock::new(|| {
    let definitions = portolan_api::crd_values();
    definitions.iter().flat_map(of_definition).collect()
});

fn of_definition(definition: &Value) -> Vec<([String; 3], DefinitionRules)> {
    let text = |value: &Value, pointer: &str| {
        let text = value.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let ruled = versions.into_iter().flatten().filter_map(|version| {
        let rules = DefinitionRules::of(version.pointer("/schema/openAPIV3Schema")?)?;
        let key = [
            text(definition, "/spec/group"),
            text(version, "/name"),
            text(definition, "/spec/names/kind"),
        ];
        Some((key, rules))
    });
    ruled.collect()
}

/// The rules that an object, valid otherwise, does not keep.
pub(super) fn violations(kind: &Kind, value: &Value) -> Vec<FieldError> {
    let key = [kind.group.clone(), kind.version.clone(), kind.kind.clone()];
    let Some(rules) = RULES.get(&key) else {
        return Vec::new();
    };
    let violations = rules.violations(value).into_iter();
    violations
        .map(|violation| {
            let pointer = pointer(&violation.field);
            let found = value.pointer(&pointer).unwrap_or(&Value::Null);
            let accepted = "what keeps this rule of the CustomResourceDefinition";
            FieldError::new(violation.field, found, violation.message, accepted)
        })
        .collect()
}

/// `spec.decisions[0]` as a JSON pointer.
fn pointer(field: &str) -> String {
    let steps = field.split(['.', '[']).map(|step| step.trim_end_matches(']'));
    steps
        .filter(|step| !step.is_empty())
        .fold(String::new(), |pointer, step| format!("{pointer}/{step}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_that_names_its_cluster_twice_is_refused_as_a_hub_refuses_it() {
        let entry = json!({ "clusterName": "a", "clusterProfileRef": { "name": "a", "namespace": "fleet" } });
        let slice = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecision",
            "metadata": { "name": "web-0", "namespace": "shop" }, "decisions": [entry],
        });
        let kind = portolan_api::structural::kind_of(&slice).unwrap();
        let errors = violations(kind, &slice);
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].path, "decisions[0]");
        assert_eq!(
            errors[0].problem,
            "exactly one of clusterProfileRef and clusterName has to be set"
        );
    }

    #[test]
    fn every_definition_with_a_rule_is_known() {
        let with_rules = portolan_api::crd_values().into_iter();
        let with_rules =
            with_rules.filter(|definition| definition.to_string().contains("x-kubernetes-validations"));
        for definition in with_rules {
            assert!(
                !of_definition(&definition).is_empty(),
                "{}",
                definition["metadata"]["name"]
            );
        }
    }
}
