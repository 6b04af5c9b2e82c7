//! Evaluates the rules of a schema on a document.

use std::collections::HashMap;

use portolan_cel::{Budget, EvalError, Program, Value as CelValue};
use serde_json::Value;

use super::super::{Cause, FieldError, Schema, join};
use super::correlate::{Items, same};
use super::values::value;
use super::{OLD_SELF, Rule, SELF};

/// Longer messages are not taken from an expression.
const LONGEST_MESSAGE: usize = 5 * 1024;
const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// What the rules have to say about a write.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) errors: Vec<FieldError>,
    /// Violations of parts that did not change.
    pub(crate) warnings: Vec<String>,
}

/// Evaluates all rules on `new`. Rules about a transition run where `old` has a corresponding value; violations of other
/// rules by what did not change are warnings.
pub(crate) fn evaluate(schema: &Schema, new: &Value, old: Option<&Value>) -> Verdict {
    let mut run = Run {
        budget: Budget::per_object(),
        verdict: Verdict::default(),
        same: HashMap::new(),
    };
    let at = At {
        schema,
        new,
        old,
        path: "",
        unchanged: Unchanged {
            here: old.map(|old| Pair { schema, new, old }),
            above: None,
        },
    };
    // A run that was stopped has said so in its errors.
    let _ = run.node(at);
    run.verdict
}

struct Run {
    budget: Budget,
    verdict: Verdict,
    /// Whether two values are the same, by where they are in memory. Each violation below one list asks again.
    same: HashMap<(usize, usize), bool>,
}

/// Most violations that a run names. Larger, and a small request could have an answer of many megabytes.
const MOST_VIOLATIONS: usize = 100;

/// The budget is spent: nothing more is evaluated.
struct Stopped;

/// One node of the document.
struct At<'v> {
    schema: &'v Schema,
    new: &'v Value,
    /// The old value for `oldSelf`.
    old: Option<&'v Value>,
    path: &'v str,
    unchanged: Unchanged<'v>,
}

/// A new value and the old one it corresponds to.
#[derive(Clone, Copy)]
struct Pair<'v> {
    schema: &'v Schema,
    new: &'v Value,
    old: &'v Value,
}

/// What to compare to tell whether a node changed: itself, or what is nearest above it that can be compared. An item of a
/// list without keys is compared with its list.
#[derive(Clone, Copy)]
struct Unchanged<'v> {
    here: Option<Pair<'v>>,
    above: Option<Pair<'v>>,
}

impl<'v> Unchanged<'v> {
    fn holds(&self, known: &mut HashMap<(usize, usize), bool>) -> bool {
        let compared = self.here.or(self.above);
        compared.is_some_and(|pair| {
            let place = (
                std::ptr::from_ref(pair.new).addr(),
                std::ptr::from_ref(pair.old).addr(),
            );
            let is_same = || same(pair.schema, pair.new, pair.old);
            *known.entry(place).or_insert_with(is_same)
        })
    }

    fn below(&self, schema: &'v Schema, new: &'v Value, old: impl Fn(Pair<'v>) -> Option<&'v Value>) -> Self {
        let Some(here) = self.here else { return *self };
        Unchanged {
            here: old(here).map(|old| Pair { schema, new, old }),
            above: Some(here),
        }
    }
}

impl Run {
    fn node(&mut self, at: At<'_>) -> Result<(), Stopped> {
        if at.new.is_null() || !at.schema.ruled {
            return Ok(());
        }
        self.rules(&at)?;
        match at.new {
            Value::Object(map) => {
                for (key, new) in map {
                    let (schema, path) = match at.schema.properties.get(key) {
                        Some(field) => (&**field, join(at.path, key)),
                        None => match at.schema.values() {
                            Some(values) => (values, format!("{}[{key}]", at.path)),
                            None => continue,
                        },
                    };
                    let old = at.old.filter(|_| !at.schema.atomic).and_then(|old| old.get(key));
                    let unchanged = at.unchanged.below(schema, new, |pair| pair.old.get(key));
                    self.node(At {
                        schema,
                        new,
                        old,
                        path: &path,
                        unchanged,
                    })?;
                }
            }
            Value::Array(items) => {
                let Some(schema) = at.schema.items.as_deref() else {
                    return Ok(());
                };
                let before = Items::of(at.schema, at.old);
                let compared = Items::of(at.schema, at.unchanged.here.map(|pair| pair.old));
                for (i, new) in items.iter().enumerate() {
                    let old = before.before(new);
                    let unchanged = at.unchanged.below(schema, new, |_| compared.before(new));
                    self.node(At {
                        schema,
                        new,
                        old,
                        path: &format!("{}[{i}]", at.path),
                        unchanged,
                    })?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn rules(&mut self, at: &At<'_>) -> Result<(), Stopped> {
        if at.schema.rules.is_empty() {
            return Ok(());
        }
        let new = value(at.schema, at.new);
        let old = at.old.filter(|old| !old.is_null());
        let wanted = at.schema.rules.iter().any(Rule::uses_old_self);
        let old = old.filter(|_| wanted).map(|old| value(at.schema, old));
        for rule in &at.schema.rules {
            if rule.uses_old_self() && old.is_none() && !rule.optional_old_self {
                continue;
            }
            let optional = rule.optional_old_self.then(|| CelValue::optional(old.clone()));
            let mut variables = [None; 2];
            variables[SELF] = Some(&new);
            variables[OLD_SELF] = optional.as_ref().or(old.as_ref());
            self.rule(at, rule, &variables)?;
        }
        Ok(())
    }

    fn rule(&mut self, at: &At<'_>, rule: &Rule, variables: &[Option<&CelValue>]) -> Result<(), Stopped> {
        let kind = Value::from(at.schema.kind_name());
        let name = rule.name();
        let invalid = |detail: &str| FieldError::invalid(at.path, &kind, detail);
        match rule.program.run(variables, &mut self.budget) {
            Ok(answer) if answer.as_bool() == Some(true) => return Ok(()),
            Ok(_) => {}
            Err(EvalError::CostExceeded { limit }) => {
                let detail = if limit == Budget::PER_EXPRESSION {
                    format!(
                        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to \
                         call cost exceeds limit for rule: {name}"
                    )
                } else {
                    OUT_OF_BUDGET.to_owned()
                };
                self.verdict.errors.push(invalid(&detail));
                return Err(Stopped);
            }
            Err(error @ EvalError::NoSuchOverload { .. }) => {
                let detail = format!(
                    "'{error}': call arguments did not match a supported operator, function or macro signature for rule: \
                     {name}"
                );
                self.verdict.errors.push(invalid(&detail));
                return Ok(());
            }
            Err(error) => {
                self.verdict
                    .errors
                    .push(invalid(&format!("{error} evaluating rule: {name}")));
                return Ok(());
            }
        }
        let path = match rule.field_path.as_str() {
            "" => at.path.to_owned(),
            below => join(at.path, below),
        };
        let message = match &rule.message_expression {
            Some(expression) => match self.message(expression, variables) {
                Ok(message) => message,
                Err(detail) => {
                    self.report(at, rule, FieldError::invalid(path, &kind, &detail));
                    return Err(Stopped);
                }
            },
            None => None,
        };
        let message = message.or_else(|| rule.message.clone());
        let message = message.unwrap_or_else(|| format!("failed rule: {name}"));
        let error = match rule.cause {
            Cause::Forbidden => FieldError::forbidden(path, &message),
            Cause::Required => FieldError::required(path, &message),
            Cause::Duplicate => FieldError::duplicate(path, &kind),
            _ => FieldError::invalid(path, &kind, &message),
        };
        self.report(at, rule, error);
        Ok(())
    }

    /// The message of a violation, or none if the expression gives nothing usable; an error ends the run.
    fn message(
        &mut self,
        expression: &Program,
        variables: &[Option<&CelValue>],
    ) -> Result<Option<String>, String> {
        match expression.run(variables, &mut self.budget) {
            Ok(value) => {
                let text = value.as_str().unwrap_or_default().trim();
                let usable = !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
                Ok(usable.then(|| text.to_owned()))
            }
            Err(EvalError::CostExceeded { limit }) if limit == Budget::PER_EXPRESSION => Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {:?}",
                expression.source()
            )),
            Err(EvalError::CostExceeded { .. }) => Err(
                "messageExpression evaluation failed due to running out of cost budget, no further validation rules will \
                 be run"
                    .to_owned(),
            ),
            Err(_) => Ok(None),
        }
    }

    /// A violation by what did not change is only told, unless the rule is about the change.
    fn report(&mut self, at: &At<'_>, rule: &Rule, error: FieldError) {
        let unchanged = if rule.in_all_of {
            Unchanged {
                here: None,
                ..at.unchanged
            }
        } else {
            at.unchanged
        };
        if !rule.uses_old_self() && unchanged.holds(&mut self.same) {
            if self.verdict.warnings.len() < MOST_VIOLATIONS {
                self.verdict.warnings.push(error.to_string());
            }
        } else if self.verdict.errors.len() < MOST_VIOLATIONS {
            self.verdict.errors.push(error);
        }
    }
}
