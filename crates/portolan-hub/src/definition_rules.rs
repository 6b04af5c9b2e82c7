//! The rules of a CustomResourceDefinition (`x-kubernetes-validations`), for programs that check manifests before a server does.

use serde_json::Value;

use crate::schema::{self, Schema};

/// The compiled rules of one version of a kind.
#[derive(Debug)]
pub struct DefinitionRules(Schema);

/// A rule that an object does not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleViolation {
    /// The field, as `spec.decisions[0]`; empty for the whole object.
    pub field: String,
    /// What the rule says.
    pub message: String,
}

impl DefinitionRules {
    /// The rules of an `openAPIV3Schema`. None if it has none, or is one that no server takes.
    pub fn of(schema: &Value) -> Option<DefinitionRules> {
        let schema = schema::compile(schema, "").ok()?;
        schema.ruled.then_some(DefinitionRules(schema))
    }

    /// What the rules say about a new object. It must be valid otherwise: rules are not meant for values of other types.
    pub fn violations(&self, object: &Value) -> Vec<RuleViolation> {
        let errors = schema::evaluate(&self.0, object, None).errors.into_iter();
        let said = errors.map(|error| RuleViolation {
            // A server names the type of the value first.
            message: match error.message.splitn(3, ": ").collect::<Vec<_>>().as_slice() {
                ["Invalid value", _, message] => (*message).to_owned(),
                _ => error.message,
            },
            field: error.field,
        });
        said.collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_that_an_object_does_not_keep_is_told_with_its_field() {
        let rules = DefinitionRules::of(&json!({"type": "object", "properties": {"spec": {
            "type": "object",
            "properties": {"least": {"type": "integer"}, "most": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.least <= self.most", "message": "least: at most most"}],
        }}}))
        .unwrap();
        let violation = RuleViolation {
            field: "spec".to_owned(),
            message: "least: at most most".to_owned(),
        };
        assert_eq!(
            rules.violations(&json!({"spec": {"least": 2, "most": 1}})),
            [violation]
        );
        assert_eq!(rules.violations(&json!({"spec": {"least": 1, "most": 1}})), []);
        assert!(DefinitionRules::of(&json!({"type": "object"})).is_none());
    }
}
