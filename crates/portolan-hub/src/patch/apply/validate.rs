//! Whether a configuration fits its type well enough to be merged. Everything else is the schema's business.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::typed::{Key, Kind, Typed, item};
use super::path::{PathElement, display};
use super::walk::element_of;

/// Checks the applied configuration; the error lists every defect in Kubernetes' words.
pub(super) fn validate(config: &Value, typed: &dyn Typed) -> Result<(), String> {
    let mut checker = Checker {
        path: Vec::new(),
        defects: Vec::new(),
    };
    checker.check(config, typed);
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

    fn check(&mut self, value: &Value, typed: &dyn Typed) {
        if self.is_full() {
            return;
        }
        match (typed.kind(), value) {
            (_, Value::Null) => {}
            (Kind::Granular | Kind::AtomicMap | Kind::Deduced, Value::Object(fields)) => {
                for (name, value) in fields {
                    self.path.push(PathElement::field(name));
                    match typed.field(name).or_else(|| typed.element()) {
                        Some(inner) => self.check(value, inner),
                        None => self.report("field not declared in schema"),
                    }
                    self.path.pop();
                }
            }
            (Kind::AtomicList, Value::Array(items)) => {
                for (position, value) in items.iter().enumerate() {
                    self.path
                        .push(PathElement::Index(i64::try_from(position).unwrap_or(i64::MAX)));
                    self.check(value, item(typed));
                    self.path.pop();
                }
            }
            (Kind::Set, Value::Array(items)) => self.check_items(items, typed, &[]),
            (Kind::KeyedList(keys), Value::Array(items)) => self.check_items(items, typed, keys),
            (Kind::Granular, other) => self.report(&format!("expected map, got &{{{other}}}")),
            (Kind::Set | Kind::KeyedList(_), other) => {
                self.report(&format!("expected list, got &{{{other}}}"))
            }
            _ => {}
        }
    }

    fn check_items(&mut self, items: &[Value], typed: &dyn Typed, keys: &[Key]) {
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
            self.check(value, item(typed));
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
