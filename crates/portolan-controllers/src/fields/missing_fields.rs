//! What a definition lacks of what we read and write.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use portolan_api::labels::portolan;

/// A field that not every definition of its kind has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Name of the definition.
    pub(crate) definition: &'static str,
    pub(crate) version: &'static str,
    pub(crate) path: &'static str,
    /// What to do without it.
    instead: &'static str,
    annotation: Option<&'static str>,
}

const PLACEMENTS: &str = "placements.cluster.open-cluster-management.io";
const DECISIONS: &str = "placementdecisions.cluster.open-cluster-management.io";
const SLICES: &str = "placementdecisions.multicluster.x-k8s.io";

impl Field {
    /// The score of a cluster in OCM's decisions.
    pub(crate) const SCORE: Field = Field {
        definition: DECISIONS,
        version: "v1beta1",
        path: "status.decisions[].score",
        instead: "OCM's decisions carry no scores; slices have them in the annotation portolan.dev/scores",
        annotation: None,
    };
    /// The groups in the status of a placement.
    pub(crate) const DECISION_GROUPS: Field = Field {
        definition: PLACEMENTS,
        version: "v1beta1",
        path: "status.decisionGroups",
        instead: "the labels of the decisions tell the groups",
        annotation: None,
    };
    /// When scores were last written.
    pub(crate) const LAST_SCORE_UPDATE: Field = Field {
        definition: PLACEMENTS,
        version: "v1beta1",
        path: "status.lastScoreUpdateTime",
        instead: "scoreRateLimit has no effect; --score-writes-per-second limits the whole hub",
        annotation: None,
    };

    /// All of them.
    pub(crate) const ALL: [Field; 9] = [
        stand_in(
            "spec.decisionStrategy.updateStrategy.type",
            portolan::UPDATE_STRATEGY,
        ),
        stand_in(
            "spec.decisionStrategy.groupStrategy.assignment",
            portolan::GROUP_ASSIGNMENT,
        ),
        stand_in("spec.sortBy", portolan::SORT_BY),
        stand_in("spec.scoreRateLimit", portolan::SCORE_RATE_LIMIT),
        Field::DECISION_GROUPS,
        Field::LAST_SCORE_UPDATE,
        Field::SCORE,
        Field {
            definition: SLICES,
            version: "v1alpha1",
            path: "schedulerName",
            instead: "slices cannot be told from another scheduler's; install our definition or use --slices=off",
            annotation: None,
        },
        Field {
            definition: SLICES,
            version: "v1alpha1",
            path: "decisions[].clusterProfileRef",
            instead: "slices name no cluster; install our definition or use --slices=off",
            annotation: None,
        },
    ];

    /// What people are told when it is missing.
    pub(crate) fn complaint(&self) -> String {
        let Field { definition, path, .. } = self;
        match self.annotation {
            Some(annotation) => format!(
                "{definition} has no field {path}, so that the server drops it: use the annotation {annotation} instead"
            ),
            None => format!("{definition} has no field {path}: {}", self.instead),
        }
    }

    fn is_in(&self, definition: &CustomResourceDefinition) -> bool {
        let mut versions = definition.spec.versions.iter();
        let version = versions.find(|version| version.name == self.version);
        let schema = version
            .and_then(|version| version.schema.as_ref())
            .and_then(|schema| schema.open_api_v3_schema.as_ref());
        // A version that is not there is not served, and one without a schema drops nothing.
        schema.is_none_or(|schema| has(schema, self.path.split('.')))
    }
}

const fn stand_in(path: &'static str, annotation: &'static str) -> Field {
    Field {
        definition: PLACEMENTS,
        version: "v1beta1",
        path,
        instead: "",
        annotation: Some(annotation),
    }
}

fn has<'a>(schema: &JSONSchemaProps, mut path: impl Iterator<Item = &'a str>) -> bool {
    let Some(step) = path.next() else { return true };
    if schema.x_kubernetes_preserve_unknown_fields == Some(true) {
        return true;
    }
    let name = step.trim_end_matches("[]");
    let property = schema
        .properties
        .iter()
        .flatten()
        .find(|(known, _)| *known == name);
    let Some((_, property)) = property else {
        return false;
    };
    match (&property.items, step.ends_with("[]")) {
        (Some(JSONSchemaPropsOrArray::Schema(item)), true) => has(item, path),
        (_, true) => property.x_kubernetes_preserve_unknown_fields == Some(true),
        (_, false) => has(property, path),
    }
}

/// The fields that are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MissingFields(Vec<Field>);

impl MissingFields {
    /// What a definition lacks.
    pub(crate) fn of(definition: &CustomResourceDefinition) -> MissingFields {
        let name = definition.metadata.name.as_deref().unwrap_or_default();
        let ours = Field::ALL.into_iter().filter(|field| field.definition == name);
        MissingFields(ours.filter(|field| !field.is_in(definition)).collect())
    }

    /// Whether a field is missing.
    pub(crate) fn has(&self, field: Field) -> bool {
        self.0.contains(&field)
    }

    /// One more field is missing.
    pub(crate) fn add(&mut self, field: Field) {
        if !self.has(field) {
            self.0.push(field);
        }
    }

    pub(crate) fn extend(&mut self, other: MissingFields) {
        other.0.into_iter().for_each(|field| self.add(field));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Field> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn without(paths: &[(&str, &str)]) -> MissingFields {
        let mut missing_fields = MissingFields::default();
        for mut crd in portolan_api::crd_values() {
            for (name, pointer) in paths {
                if crd["metadata"]["name"] == *name {
                    let (parent, last) = pointer.rsplit_once('/').unwrap();
                    let root = "/spec/versions/0/schema/openAPIV3Schema/properties";
                    let parent = crd.pointer_mut(&format!("{root}{parent}")).unwrap();
                    parent.as_object_mut().unwrap().remove(last).unwrap();
                }
            }
            missing_fields.extend(MissingFields::of(&serde_json::from_value(crd).unwrap()));
        }
        missing_fields
    }

    #[test]
    fn our_own_definitions_lack_nothing() {
        assert_eq!(without(&[]), MissingFields::default());
    }

    #[test]
    fn fields_are_found_missing_at_any_depth_and_in_lists_and_the_annotation_is_named() {
        let missing_fields = without(&[
            (PLACEMENTS, "/spec/properties/sortBy"),
            (
                PLACEMENTS,
                "/spec/properties/decisionStrategy/properties/updateStrategy",
            ),
            (DECISIONS, "/status/properties/decisions/items/properties/score"),
            (SLICES, "/schedulerName"),
        ]);
        let paths: Vec<&str> = missing_fields.iter().map(|field| field.path).collect();
        assert_eq!(missing_fields.iter().count(), 4, "{paths:?}");
        assert!(missing_fields.has(Field::SCORE) && !missing_fields.has(Field::DECISION_GROUPS));
        let said: Vec<String> = missing_fields.iter().map(Field::complaint).collect();
        assert!(
            said.iter()
                .any(|text| text.contains("spec.sortBy") && text.contains("portolan.dev/sort-by")),
            "{said:?}"
        );
    }

    #[test]
    fn a_schema_that_keeps_what_it_does_not_know_lacks_nothing() {
        let open: Value = json!({
            "metadata": {"name": PLACEMENTS},
            "spec": {
                "group": "cluster.open-cluster-management.io", "scope": "Namespaced",
                "names": {"kind": "Placement", "plural": "placements"},
                "versions": [{"name": "v1beta1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {
                        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    },
                }}}],
            },
        });
        assert_eq!(
            MissingFields::of(&serde_json::from_value(open).unwrap()),
            MissingFields::default()
        );
    }
}
