//! From the JSON of `openAPIV3Schema` to a [`Schema`]. Everything that is wrong is reported, each with its field.

use std::collections::BTreeMap;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use serde_json::{Map, Value, json};

use super::{Checks, Definitions, FieldError, Kind, ListType, PatternBudget, Schema, join, rules};

/// Deeper schemas are refused: every walk over a document recurses as deep as its schema.
const DEPTH: usize = 64;
/// Compiled size of one pattern; a definition is written by an admin, but a slip must not take the hub's memory.
const PATTERN_BYTES: usize = 1 << 20;
/// What a pattern of the smallest size takes of the budget of a definition: 4,000 such patterns, or 60 of the largest, use it up.
const PATTERN_UNITS: u64 = 5_000;
/// What a class of characters takes of it that is large and whose case is ignored: 20 of them take all of it.
const FOLDED_UNITS: u64 = 200 * PATTERN_UNITS;

/// Compiles the schema of one version. `path` is where it stands in the definition.
pub(crate) fn compile(source: &Value, path: &str) -> Result<Schema, Vec<FieldError>> {
    compile_within(source, path, &PatternBudget::unlimited())
}

/// The same, if the patterns in its rules do not cost more than is left.
pub(crate) fn compile_within(
    source: &Value,
    path: &str,
    patterns: &PatternBudget,
) -> Result<Schema, Vec<FieldError>> {
    let context = Context {
        patterns,
        definitions: None,
    };
    let mut errors = Vec::new();
    let mut schema = node(source, path, 0, &context, &mut errors);
    // Rules are typed by the schema, so there is no use in compiling them with a wrong one.
    if errors.is_empty() {
        rules::attach(source, &mut schema, path, patterns, &mut errors);
    }
    if errors.is_empty() {
        Ok(schema)
    } else {
        Err(errors)
    }
}

/// The same for a built-in kind, whose schema refers to definitions. It has no rules.
pub(super) fn compile_with(source: &Value, definitions: &Definitions<'_>) -> Result<Schema, Vec<FieldError>> {
    let context = Context {
        patterns: &PatternBudget::unlimited(),
        definitions: Some(definitions),
    };
    let mut errors = Vec::new();
    let schema = node(source, "", 0, &context, &mut errors);
    if errors.is_empty() {
        Ok(schema)
    } else {
        Err(errors)
    }
}

struct Context<'c> {
    patterns: &'c PatternBudget,
    /// What references name. A definition of a custom kind cannot have references.
    definitions: Option<&'c Definitions<'c>>,
}

/// The schema of a field, or the one that it refers to.
fn below(
    source: &Value,
    path: &str,
    depth: usize,
    context: &Context<'_>,
    errors: &mut Vec<FieldError>,
) -> Arc<Schema> {
    match context
        .definitions
        .and_then(|definitions| definitions.referred(source))
    {
        Some(Ok(schema)) => schema,
        Some(Err(found)) => {
            errors.extend(found);
            Arc::default()
        }
        None => Arc::new(node(source, path, depth, context, errors)),
    }
}

fn node(
    source: &Value,
    path: &str,
    depth: usize,
    context: &Context<'_>,
    errors: &mut Vec<FieldError>,
) -> Schema {
    let Some(source) = source.as_object() else {
        errors.push(FieldError::type_invalid(path, source, "object"));
        return Schema::default();
    };
    if depth > DEPTH {
        errors.push(FieldError::forbidden(
            path,
            &format!("schemas may not be nested deeper than {DEPTH}"),
        ));
        return Schema::default();
    }
    let flag = |name: &str| source.get(name).and_then(Value::as_bool).unwrap_or(false);
    let preserve_unknown = flag("x-kubernetes-preserve-unknown-fields");
    let items = source
        .get("items")
        .map(|items| below(items, &join(path, "items"), depth + 1, context, errors));
    let not = source
        .get("not")
        .map(|not| Box::new(node(not, &join(path, "not"), depth + 1, context, errors)));
    let mut branches = |key: &str| -> Vec<Schema> {
        let list = source
            .get(key)
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let at = |i| format!("{}[{i}]", join(path, key));
        list.iter()
            .enumerate()
            .map(|(i, branch)| node(branch, &at(i), depth + 1, context, errors))
            .collect()
    };
    let (all_of, any_of, one_of) = (branches("allOf"), branches("anyOf"), branches("oneOf"));
    let properties = source.get("properties").and_then(Value::as_object);
    let properties = properties
        .into_iter()
        .flatten()
        .map(|(name, child)| {
            let at = format!("{}[{name}]", join(path, "properties"));
            (name.clone(), below(child, &at, depth + 1, context, errors))
        })
        .collect::<BTreeMap<String, Arc<Schema>>>();
    let additional = additional(source, path, depth, context, errors);
    let mut children = properties.values().chain(&additional).chain(&items);
    Schema {
        kind: kind(source, path, errors),
        nullable: flag("nullable"),
        default: source.get("default").cloned(),
        defaulted: source.contains_key("default") || children.any(|child| child.defaulted),
        properties,
        additional,
        items,
        preserve_unknown,
        quantity: false,
        int_or_string: flag("x-kubernetes-int-or-string"),
        embedded_resource: flag("x-kubernetes-embedded-resource"),
        list: list_type(source, path, errors),
        atomic: source
            .get("x-kubernetes-map-type")
            .is_some_and(|kind| kind == "atomic"),
        ruled: false,
        rules: Vec::new(),
        checks: checks(source, path, context.patterns, errors),
        all_of,
        any_of,
        one_of,
        not,
    }
}

/// The schema of properties that have no schema by name.
fn additional(
    source: &Map<String, Value>,
    path: &str,
    depth: usize,
    context: &Context<'_>,
    errors: &mut Vec<FieldError>,
) -> Option<Arc<Schema>> {
    let schema = match source.get("additionalProperties")? {
        Value::Bool(false) => return None,
        Value::Bool(true) => Arc::new(Schema {
            preserve_unknown: true,
            nullable: true,
            ..Schema::default()
        }),
        child => {
            let path = join(path, "additionalProperties");
            below(child, &path, depth + 1, context, errors)
        }
    };
    Some(schema)
}

fn kind(source: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) -> Option<Kind> {
    let found = source.get("type")?;
    let kind = match found.as_str() {
        Some("object") => Kind::Object,
        Some("array") => Kind::Array,
        Some("string") => Kind::String,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        Some("") => return None,
        _ => {
            let accepted = json!(["array", "boolean", "integer", "number", "object", "string"]);
            let accepted = accepted.as_array().map(Vec::as_slice).unwrap_or_default();
            errors.push(FieldError::not_supported(&join(path, "type"), found, accepted));
            return None;
        }
    };
    Some(kind)
}

fn list_type(source: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) -> ListType {
    let Some(found) = source.get("x-kubernetes-list-type") else {
        return ListType::Atomic;
    };
    match found.as_str() {
        Some("atomic") => ListType::Atomic,
        Some("set") => ListType::Set,
        Some("map") => {
            let keys: Vec<String> = strings(source.get("x-kubernetes-list-map-keys"));
            if keys.is_empty() {
                let detail = "must not be empty if x-kubernetes-list-type is map";
                errors.push(FieldError::required(
                    join(path, "x-kubernetes-list-map-keys"),
                    detail,
                ));
            }
            ListType::Map(keys.into_iter().map(Into::into).collect())
        }
        _ => {
            let accepted = ["atomic", "set", "map"].map(Value::from);
            errors.push(FieldError::not_supported(
                &join(path, "x-kubernetes-list-type"),
                found,
                &accepted,
            ));
            ListType::Atomic
        }
    }
}

/// Compiles a pattern, and pays for the memory that it takes: by the smallest of three sizes that it fits into.
fn compile_pattern(text: &str, patterns: &PatternBudget) -> Result<Regex, String> {
    let sizes = [PATTERN_BYTES >> 6, PATTERN_BYTES >> 3, PATTERN_BYTES];
    if portolan_cel::has_verbose_flag(text) {
        let why = portolan_cel::VERBOSE;
        return Err(format!("must be a valid regular expression, but isn't: {why}"));
    }
    // These are read once for each size, and take long whatever the size is.
    patterns.spend(FOLDED_UNITS * portolan_cel::case_folds(text) as u64)?;
    let mut last = String::new();
    for size in sizes {
        match RegexBuilder::new(text).size_limit(size).build() {
            Ok(pattern) => {
                return patterns
                    .spend(PATTERN_UNITS * (size / sizes[0]) as u64)
                    .map(|()| pattern);
            }
            Err(error) => {
                let too_large = matches!(error, regex::Error::CompiledTooBig(_));
                last = format!("must be a valid regular expression, but isn't: {error}");
                if !too_large {
                    break;
                }
            }
        }
    }
    Err(last)
}

fn checks(
    source: &Map<String, Value>,
    path: &str,
    patterns: &PatternBudget,
    errors: &mut Vec<FieldError>,
) -> Checks {
    let number = |name: &str| source.get(name).and_then(Value::as_f64);
    let count = |name: &str| {
        source
            .get(name)
            .and_then(Value::as_u64)
            .and_then(|n| usize::try_from(n).ok())
    };
    let flag = |name: &str| source.get(name).and_then(Value::as_bool).unwrap_or(false);
    let pattern = source
        .get("pattern")
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
        .and_then(|text| match compile_pattern(text, patterns) {
            Ok(pattern) => Some(pattern),
            Err(detail) => {
                errors.push(FieldError::invalid(join(path, "pattern"), &text.into(), &detail));
                None
            }
        });
    Checks {
        required: strings(source.get("required")),
        values: source
            .get("enum")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
        minimum: number("minimum"),
        maximum: number("maximum"),
        exclusive_minimum: flag("exclusiveMinimum"),
        exclusive_maximum: flag("exclusiveMaximum"),
        multiple_of: number("multipleOf"),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        unique_items: flag("uniqueItems"),
        pattern,
        format: source.get("format").and_then(Value::as_str).map(str::to_owned),
    }
}

fn strings(list: Option<&Value>) -> Vec<String> {
    let list = list
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
