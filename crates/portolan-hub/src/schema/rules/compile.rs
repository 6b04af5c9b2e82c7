//! Rules from the JSON of a schema, attached to the nodes they are about.

use std::cell::Cell;
use std::sync::Arc;

use portolan_cel::{CompileError, Environment, Program, ValueType};
use serde_json::Value;

use super::super::{Cause, FieldError, ListType, Schema, join};
use super::Rule;
use super::field_path;
use super::types::{Root, declared};

const RULES: &str = "x-kubernetes-validations";

/// What the patterns that are written out in all rules of a definition may cost to compile, in units of CEL: about a second.
/// Larger, and a definition could keep a thread of the hub busy; smaller, and one with hundreds of patterns would be refused.
const OF_A_DEFINITION: u64 = 20_000_000;

/// What is left of that for the rules that were not compiled yet; `None` after there was too little for one.
#[derive(Debug)]
pub(crate) struct PatternBudget(Cell<Option<u64>>);

impl PatternBudget {
    /// For all versions of one definition together.
    pub(crate) fn of_definition() -> PatternBudget {
        PatternBudget::of(OF_A_DEFINITION)
    }

    /// For schemas that were taken before: without them objects could not be read any more.
    pub(crate) fn unlimited() -> PatternBudget {
        PatternBudget::of(u64::MAX)
    }

    pub(super) fn of(units: u64) -> PatternBudget {
        PatternBudget(Cell::new(Some(units)))
    }

    fn is_spent(&self) -> bool {
        self.0.get().is_none()
    }

    pub(in super::super) fn spend(&self, units: u64) -> Result<(), String> {
        self.0.set(self.0.get().and_then(|left| left.checked_sub(units)));
        match self.is_spent() {
            false => Ok(()),
            true => Err(format!(
                "the patterns of the definition and of its rules take more than {OF_A_DEFINITION} units to compile; accepted: fewer or \
                 smaller patterns"
            )),
        }
    }
}

/// Where a part of a schema stands.
struct Place<'p> {
    path: &'p str,
    patterns: &'p PatternBudget,
    root: Root,
    /// The list or map above it, within which old values cannot be told.
    uncorrelatable: Option<&'p str>,
    in_all_of: bool,
}

/// Compiles the rules in `source` and all below it into `schema`, which was compiled from it.
pub(in super::super) fn attach(
    source: &Value,
    schema: &mut Schema,
    path: &str,
    patterns: &PatternBudget,
    errors: &mut Vec<FieldError>,
) {
    let place = Place {
        path,
        patterns,
        root: Root::Yes,
        uncorrelatable: None,
        in_all_of: false,
    };
    node(source, schema, &place, errors);
}

/// `source` is about `schema`, or an `allOf` of what is.
fn node(source: &Value, schema: &mut Schema, place: &Place<'_>, errors: &mut Vec<FieldError>) {
    let rules = source.get(RULES).and_then(Value::as_array);
    if let Some(rules) = rules.filter(|rules| !rules.is_empty()) {
        own(rules, schema, place, errors);
    }
    let below = |path: &str,
                 root: Root,
                 uncorrelatable: Option<&str>,
                 source,
                 schema: &mut Schema,
                 errors: &mut _| {
        let place = Place {
            path,
            patterns: place.patterns,
            root,
            uncorrelatable: place.uncorrelatable.or(uncorrelatable),
            in_all_of: place.in_all_of,
        };
        node(source, schema, &place, errors);
        !schema.ruled
    };
    let mut bare = schema.rules.is_empty();
    let properties = source.get("properties").and_then(Value::as_object);
    for (name, source) in properties.into_iter().flatten() {
        let uncorrelatable = schema.atomic.then_some(place.path);
        if let Some(field) = schema.properties.get_mut(name).and_then(Arc::get_mut) {
            let path = format!("{}[{name}]", join(place.path, "properties"));
            bare &= below(&path, Root::of(field), uncorrelatable, source, field, errors);
        }
    }
    if let (Some(source), Some(values)) = (
        source.get("additionalProperties"),
        schema.additional.as_mut().and_then(Arc::get_mut),
    ) && source.is_object()
    {
        let uncorrelatable = schema.atomic.then_some(place.path);
        let path = join(place.path, "additionalProperties");
        bare &= below(&path, Root::of(values), uncorrelatable, source, values, errors);
    }
    if let (Some(source), Some(items)) = (source.get("items"), schema.items.as_mut().and_then(Arc::get_mut)) {
        let keyed = matches!(schema.list, ListType::Map(_));
        let path = join(place.path, "items");
        let uncorrelatable = (!keyed).then_some(place.path);
        bare &= below(&path, Root::of(items), uncorrelatable, source, items, errors);
    }
    schema.ruled |= !bare;
    let branches = source.get("allOf").and_then(Value::as_array);
    for (i, branch) in branches.into_iter().flatten().enumerate() {
        let path = format!("{}[{i}]", join(place.path, "allOf"));
        let place = Place {
            path: &path,
            in_all_of: true,
            ..*place
        };
        node(branch, schema, &place, errors);
    }
    for junctor in ["anyOf", "oneOf"] {
        let branches = source.get(junctor).and_then(Value::as_array);
        for (i, branch) in branches.into_iter().flatten().enumerate() {
            forbid(branch, &format!("{}[{i}]", join(place.path, junctor)), errors);
        }
    }
    if let Some(branch) = source.get("not") {
        forbid(branch, &join(place.path, "not"), errors);
    }
}

/// A value that need not fit a branch cannot be asked about with the types of that branch.
fn forbid(branch: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if branch.get(RULES).is_some() {
        errors.push(FieldError::forbidden(
            join(path, RULES),
            "must be empty to be structural",
        ));
    }
    let properties = branch.get("properties").and_then(Value::as_object);
    for (name, source) in properties.into_iter().flatten() {
        forbid(source, &format!("{}[{name}]", join(path, "properties")), errors);
    }
    for key in ["items", "additionalProperties", "not"] {
        if let Some(source) = branch.get(key) {
            forbid(source, &join(path, key), errors);
        }
    }
}

/// The rules of one node.
fn own(rules: &[Value], schema: &mut Schema, place: &Place<'_>, errors: &mut Vec<FieldError>) {
    let before = errors.len();
    for (i, rule) in rules.iter().enumerate() {
        form(rule, &format!("{}[{i}]", join(place.path, RULES)), schema, errors);
    }
    if errors.len() > before {
        return;
    }
    let Some(known) = declared(schema, place.root) else {
        let detail = "rules need a declared type at their node, and at the items or values of a list or map";
        errors.push(FieldError::forbidden(join(place.path, RULES), detail));
        return;
    };
    for (i, rule) in rules.iter().enumerate() {
        if place.patterns.is_spent() {
            // One error says so, and no other rule is compiled.
            return;
        }
        let path = format!("{}[{i}]", join(place.path, RULES));
        match compiled(rule, &path, schema, &known, place) {
            Ok(rule) => schema.rules.push(rule),
            Err(error) => errors.push(error),
        }
    }
    schema.ruled |= !schema.rules.is_empty();
}

/// What is wrong with a rule before it is compiled.
fn form(rule: &Value, path: &str, schema: &Schema, errors: &mut Vec<FieldError>) {
    let given = |field: &str| rule.get(field).and_then(Value::as_str).unwrap_or_default();
    let broken = |text: &str| text.contains(['\n', '\r']);
    let at = |field: &str| format!("{path}.{field}");
    let (text, message) = (given("rule"), given("message"));
    if text.trim().is_empty() {
        errors.push(FieldError::required(at("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        let detail = "message must be non-empty if specified";
        errors.push(FieldError::invalid(at("message"), &message.into(), detail));
    } else if broken(message.trim()) {
        let detail = "message must not contain line breaks";
        errors.push(FieldError::invalid(at("message"), &message.into(), detail));
    } else if broken(text.trim()) && message.is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(at("message"), detail));
    }
    let expression = given("messageExpression");
    if !expression.is_empty() && expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(at("messageExpression"), detail));
    }
    if let Some(reason) = rule.get("reason").filter(|reason| cause(reason).is_none()) {
        let accepted = REASONS.map(|(reason, _)| Value::from(reason));
        errors.push(FieldError::not_supported(&at("reason"), reason, &accepted));
    }
    let wanted = given("fieldPath");
    if !wanted.is_empty() && field_path::normalize(wanted, schema).is_none() {
        let detail = "fieldPath must be a valid path";
        errors.push(FieldError::invalid(at("fieldPath"), &wanted.into(), detail));
    }
}

const REASONS: [(&str, Cause); 4] = [
    ("FieldValueDuplicate", Cause::Duplicate),
    ("FieldValueForbidden", Cause::Forbidden),
    ("FieldValueInvalid", Cause::Invalid),
    ("FieldValueRequired", Cause::Required),
];

fn cause(reason: &Value) -> Option<Cause> {
    REASONS
        .into_iter()
        .find(|(name, _)| reason == name)
        .map(|(_, cause)| cause)
}

fn compiled(
    source: &Value,
    path: &str,
    schema: &Schema,
    known: &ValueType,
    place: &Place<'_>,
) -> Result<Rule, FieldError> {
    let given = |field: &str| source.get(field).and_then(Value::as_str).unwrap_or_default();
    let optional = source.get("optionalOldSelf").and_then(Value::as_bool);
    let optional_old_self = optional.unwrap_or(false);
    let old = if optional_old_self {
        known.clone().optional()
    } else {
        known.clone()
    };
    let environment = Environment::rules()
        .variable("self", known.clone())
        .variable("oldSelf", old);
    let refuse =
        |field: &str, detail: &str| FieldError::invalid(format!("{path}.{field}"), &source[field], detail);
    let compile = |text: &str| {
        let mut units = 0;
        let program = Program::compile_counted(&environment, text, &mut units);
        let program = program.map_err(|error| shown(text, &error));
        (place.patterns.spend(units), program)
    };
    let text = given("rule");
    let (paid, program) = compile(text);
    paid.map_err(|detail| refuse("rule", &detail))?;
    let program = program.map_err(|error| refuse("rule", &format!("compilation failed: {error}")))?;
    if program.result() != ValueType::BOOL {
        return Err(refuse("rule", "cel expression must evaluate to a bool"));
    }
    let text = given("messageExpression");
    let message_expression = match text {
        "" => None,
        text => {
            let (paid, program) = compile(text);
            paid.map_err(|detail| refuse("messageExpression", &detail))?;
            let program = program.map_err(|error| {
                let detail = format!("messageExpression compilation failed: {error}");
                refuse("messageExpression", &detail)
            })?;
            if program.result() != ValueType::STRING {
                return Err(refuse(
                    "messageExpression",
                    "messageExpression must evaluate to a string",
                ));
            }
            Some(program)
        }
    };
    let message = Some(given("message").trim().to_owned()).filter(|message| !message.is_empty());
    let rule = Rule {
        program,
        message,
        message_expression,
        cause: source.get("reason").and_then(cause).unwrap_or(Cause::Invalid),
        field_path: field_path::normalize(given("fieldPath"), schema).unwrap_or_default(),
        optional_old_self,
        in_all_of: place.in_all_of,
    };
    match place.uncorrelatable {
        Some(within) if rule.uses_old_self() => {
            let detail =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
            Err(FieldError::invalid(
                format!("{path}.rule"),
                &source["rule"],
                &detail,
            ))
        }
        _ if optional.is_some() && !rule.uses_old_self() => Err(FieldError::invalid(
            format!("{path}.optionalOldSelf"),
            &source["optionalOldSelf"],
            "may not be set if oldSelf is not used in rule",
        )),
        _ => Ok(rule),
    }
}

/// A compile error with the line it is about, and a mark under the place.
fn shown(source: &str, error: &CompileError) -> String {
    let reason = error.reason();
    let Some(position) = error.position() else {
        return reason;
    };
    let line = source
        .split('\n')
        .nth(position.line.saturating_sub(1))
        .unwrap_or_default();
    let dots = ".".repeat(position.column.saturating_sub(1));
    format!("ERROR: <input>:{position}: {reason}\n | {line}\n | {dots}^")
}
