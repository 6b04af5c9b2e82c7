//! CustomResourceDefinitions: checked, completed, and turned into resources.

use std::sync::Arc;

use serde_json::Value;

use super::names::{Rule, is_label};
use super::{Registry, Resource, Scale, Traits, naming};
use crate::schema::{FieldError, PatternBudget, check_costs, check_defaults, compile, compile_within};
use crate::table::{Columns, MOST_DECLARED};

pub(crate) const GROUP: &str = "apiextensions.k8s.io";
pub(crate) const PLURAL: &str = "customresourcedefinitions";
/// Holds a definition until its objects are gone.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Fills in what a definition may leave out.
pub(crate) fn complete(definition: &mut Value) {
    let kind = text(definition, "/spec/names/kind").to_owned();
    if let Some(names) = definition
        .pointer_mut("/spec/names")
        .and_then(Value::as_object_mut)
    {
        names
            .entry("singular")
            .or_insert_with(|| kind.to_lowercase().into());
        names
            .entry("listKind")
            .or_insert_with(|| format!("{kind}List").into());
    }
}

/// Everything that is wrong with a definition beyond its own schema. `old` is what it was before.
pub(crate) fn check(definition: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (group, plural) = (
        text(definition, "/spec/group"),
        text(definition, "/spec/names/plural"),
    );
    let name = text(definition, "/metadata/name");
    if name != format!("{plural}.{group}") {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", &name.into(), detail));
    }
    if !group.contains('.') || !group.split('.').all(is_label) {
        let detail = "should be a domain with at least one dot";
        errors.push(FieldError::invalid("spec.group", &group.into(), detail));
    }
    // Its objects would share the keys of the built-in ones, and deleting the definition would delete those.
    if Registry::builtin().iter().any(|resource| resource.group == group) {
        let detail = "this group has built-in kinds; use a group of your own domain";
        errors.push(FieldError::invalid("spec.group", &group.into(), detail));
    }
    if !is_label(plural) {
        errors.push(FieldError::invalid(
            "spec.names.plural",
            &plural.into(),
            "should be a lower case DNS label",
        ));
    }
    let scope = definition.pointer("/spec/scope").cloned().unwrap_or_default();
    if scope != "Cluster" && scope != "Namespaced" {
        let accepted = ["Cluster", "Namespaced"].map(Value::from);
        errors.push(FieldError::not_supported("spec.scope", &scope, &accepted));
    }
    let strategy = definition
        .pointer("/spec/conversion/strategy")
        .cloned()
        .unwrap_or_else(|| "None".into());
    if strategy != "None" {
        errors.push(FieldError::not_supported(
            "spec.conversion.strategy",
            &strategy,
            &["None".into()],
        ));
    }
    let versions = versions(definition);
    if versions
        .iter()
        .filter(|version| version["storage"] == true)
        .count()
        != 1
    {
        let names = Value::from(
            versions
                .iter()
                .map(|version| version["name"].clone())
                .collect::<Vec<_>>(),
        );
        let detail = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid("spec.versions", &names, detail));
    }
    let before = old.map(self::versions).unwrap_or_default();
    check_versions(versions, before, &mut errors);
    check_schemas(versions, before, &mut errors);
    errors
}

/// Names, columns and the presence of schemas. `before` are the versions that the definition had.
fn check_versions(versions: &[Value], before: &[Value], errors: &mut Vec<FieldError>) {
    for (i, version) in versions.iter().enumerate() {
        let at = format!("spec.versions[{i}]");
        if versions[..i].iter().any(|other| other["name"] == version["name"]) {
            errors.push(FieldError::duplicate(format!("{at}.name"), &version["name"]));
        }
        if let Err(error) = Columns::of_crd_version(version) {
            let field = format!("{at}.additionalPrinterColumns");
            errors.push(FieldError::invalid(
                field,
                &version["additionalPrinterColumns"],
                &error.to_string(),
            ));
        }
        let columns = list(version, "/additionalPrinterColumns");
        let had = before.iter().any(|old| {
            old["name"] == version["name"] && list(old, "/additionalPrinterColumns").len() >= columns.len()
        });
        if columns.len() > MOST_DECLARED && !had {
            let field = format!("{at}.additionalPrinterColumns");
            errors.push(FieldError::too_many(&field, columns.len(), MOST_DECLARED));
        }
        if version.pointer("/schema/openAPIV3Schema").is_none() {
            errors.push(FieldError::required(
                format!("{at}.schema.openAPIV3Schema"),
                "schemas are required",
            ));
        }
    }
}

/// A schema that all versions have is named as if it stood beside them, which is where Kubernetes keeps it. Defaults and
/// rules that a definition had before are forgiven: an earlier hub took any.
fn check_schemas(versions: &[Value], before: &[Value], errors: &mut Vec<FieldError>) {
    let schema = |version: &Value| version.pointer("/schema/openAPIV3Schema").cloned();
    let shared = versions
        .windows(2)
        .all(|pair| schema(&pair[0]) == schema(&pair[1]));
    let patterns = PatternBudget::of_definition();
    for (i, version) in versions.iter().enumerate() {
        let Some(schema) = version.pointer("/schema/openAPIV3Schema") else {
            continue;
        };
        let at = if shared {
            "spec.validation.openAPIV3Schema".to_owned()
        } else {
            format!("spec.versions[{i}].schema.openAPIV3Schema")
        };
        let unchanged = before.iter().any(|old| {
            old["name"] == version["name"] && old.pointer("/schema/openAPIV3Schema") == Some(schema)
        });
        let compiled = match unchanged {
            true => compile(schema, &at),
            false => compile_within(schema, &at, &patterns),
        };
        match compiled {
            Ok(compiled) if !unchanged => {
                errors.extend(check_defaults(&compiled, &at));
                errors.extend(check_costs(&compiled, &at));
            }
            Ok(_) => {}
            Err(wrong) => errors.extend(wrong),
        }
        if schema["type"] != "object" {
            let detail = "must be object at the root";
            errors.push(FieldError::invalid(format!("{at}.type"), &schema["type"], detail));
        }
        if shared {
            return;
        }
    }
}

/// The resources a definition serves. A version whose schema does not compile is left out; [`check`] refuses those.
pub(crate) fn resources(definition: &Value) -> Vec<Resource> {
    let versions = versions(definition);
    let group = text(definition, "/spec/group");
    let Some(storage) = versions.iter().find(|version| version["storage"] == true) else {
        return Vec::new();
    };
    let storage_version = super::api_version(group, text(storage, "/name"));
    versions
        .iter()
        .filter(|version| version["served"] == true)
        .filter_map(|version| resource(definition, version, &storage_version))
        .collect()
}

fn resource(definition: &Value, version: &Value, storage_version: &str) -> Option<Resource> {
    let source = version.pointer("/schema/openAPIV3Schema")?.clone();
    let schema = compile(&source, "").ok()?;
    let names = names(definition);
    let name = |field: &str| text(names, &format!("/{field}")).to_owned();
    let group = text(definition, "/spec/group").to_owned();
    let scale = version.pointer("/subresources/scale").map(|scale| Scale {
        spec_replicas: text(scale, "/specReplicasPath").into(),
        status_replicas: text(scale, "/statusReplicasPath").into(),
        label_selector: scale["labelSelectorPath"].as_str().map(str::to_owned),
    });
    let selectable = list(version, "/selectableFields");
    let selectable = selectable
        .iter()
        .map(|field| text(field, "/jsonPath").trim_start_matches('.').to_owned());
    Some(Resource {
        storage_group: group.clone(),
        group,
        version: text(version, "/name").into(),
        kind: name("kind"),
        list_kind: name("listKind"),
        plural: name("plural"),
        singular: name("singular"),
        short_names: strings(names, "/shortNames"),
        categories: strings(names, "/categories"),
        namespaced: text(definition, "/spec/scope") == "Namespaced",
        storage_version: storage_version.into(),
        renames: &[],
        schema: Arc::new(schema),
        defined: text(definition, "/metadata/resourceVersion").parse().unwrap_or(0),
        source: Arc::new(source),
        columns: Columns::of_crd_version(version).ok()?,
        status: version.pointer("/subresources/status").is_some(),
        scale,
        selectable: selectable.collect(),
        traits: Traits {
            custom: true,
            generation: true,
            unconditional_update: false,
            review: false,
            create_on_update: false,
            terminating: naming::is_deleted(definition),
            names: Rule::Subdomain,
        },
    })
}

/// The names that were accepted, or before that those asked for.
fn names(definition: &Value) -> &Value {
    let accepted = definition.pointer("/status/acceptedNames");
    let wanted = definition.pointer("/spec/names").unwrap_or(&Value::Null);
    accepted.filter(|names| names.is_object()).unwrap_or(wanted)
}

fn versions(definition: &Value) -> &[Value] {
    list(definition, "/spec/versions")
}

pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn strings(value: &Value, pointer: &str) -> Vec<String> {
    list(value, pointer)
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
