//! Whether a configuration fits its type well enough to be merged. Everything else is the schema's business.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::typed::{Key, Kind, ScalarType, Typed, child, item};
use super::path::{PathElement, display};
use super::walk::element_of;

/// Checks the applied configuration; the error lists every defect in Kubernetes' words. `typed` says how lists merge, and `types`
/// which fields and types there are.
pub(super) fn validate(config: &Value, typed: &dyn Typed, types: &dyn Typed) -> Result<(), String> {
    let mut checker = Checker {
        path: Vec::new(),
        defects: Vec::new(),
    };
    checker.check(config, typed, types);
    match checker.defects.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

struct Checker {
    path: Vec<PathElement>,
    defects: Vec<String>,
}

/// Most defects that a message names. Larger, and a small request could have an answer of many megabytes.
const MOST_DEFECTS: usize = 100;

impl Checker {
    fn is_full(&self) -> bool {
        self.defects.len() >= MOST_DEFECTS
    }

    fn check(&mut self, value: &Value, typed: &dyn Typed, types: &dyn Typed) {
        if self.is_full() {
            return;
        }
        match (types.kind(), value) {
            (_, Value::Null) => {}
            (Kind::Granular | Kind::AtomicMap | Kind::Deduced, Value::Object(fields)) => {
                for (name, value) in fields {
                    self.path.push(PathElement::field(name));
                    match types.field(name).or_else(|| types.element()) {
                        Some(inner) => self.check(value, child(typed, name), inner),
                        None => self.report("field not declared in schema"),
                    }
                    self.path.pop();
                }
            }
            (Kind::AtomicList | Kind::Set | Kind::KeyedList(_), Value::Array(items)) => match typed.kind() {
                Kind::Set => self.check_items(items, typed, types, &[]),
                Kind::KeyedList(keys) => self.check_items(items, typed, types, keys),
                _ => self.check_positions(items, typed, types),
            },
            (Kind::Granular, other) => self.report(&format!("expected map, got &{{{other}}}")),
            (Kind::AtomicList | Kind::Set | Kind::KeyedList(_), other) => {
                self.report(&format!("expected list, got &{{{other}}}"))
            }
            (Kind::Scalar, value) => {
                if let Some(defect) = types.scalar().and_then(|accepted| scalar_defect(accepted, value)) {
                    self.report(&defect);
                }
            }
            _ => {}
        }
    }

    fn check_positions(&mut self, items: &[Value], typed: &dyn Typed, types: &dyn Typed) {
        for (position, value) in items.iter().enumerate() {
            self.path
                .push(PathElement::Index(i64::try_from(position).unwrap_or(i64::MAX)));
            self.check(value, item(typed), item(types));
            self.path.pop();
        }
    }

    fn check_items(&mut self, items: &[Value], typed: &dyn Typed, types: &dyn Typed, keys: &[Key]) {
        let mut seen = BTreeSet::new();
        for (position, value) in items.iter().enumerate() {
            let element = match element_of(typed, keys, value) {
                Ok(element) => element,
                Err(reason) => {
                    self.report(&format!("element {position}: {reason}"));
                    continue;
                }
            };
            if !seen.insert(element.clone()) {
                self.report(&format!("duplicate entries for key {element}"));
            }
            self.path.push(element);
            self.check(value, item(typed), item(types));
            self.path.pop();
        }
    }

    fn report(&mut self, defect: &str) {
        if self.is_full() {
            return;
        }
        let path = display(&self.path);
        self.defects.push(if path.is_empty() {
            defect.to_owned()
        } else {
            format!("{path}: {defect}")
        });
    }
}

/// Some words for a value are those of Go.
fn scalar_defect(accepted: ScalarType, value: &Value) -> Option<String> {
    match (accepted, value) {
        (ScalarType::Boolean, Value::Bool(_))
        | (ScalarType::Numeric, Value::Number(_))
        | (ScalarType::Text, Value::String(_)) => None,
        (ScalarType::Boolean, Value::String(text)) => Some(format!("expected boolean, got {text}")),
        (ScalarType::Boolean, other) => Some(format!("expected boolean, got {other}")),
        (ScalarType::Text, other) => Some(format!("expected string, got {other}")),
        (ScalarType::Numeric, other) => {
            let found = match other {
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                Value::Array(_) => "[]interface {}",
                _ => "map[string]interface {}",
            };
            Some(format!("expected numeric (int or float), got {found}"))
        }
    }
}
