//! Refuses rules that could cost too much, when their definition is written.

use portolan_cel::{Extent, estimate};

use super::super::{FieldError, Kind, Schema, join};

/// What one rule may cost, as often as its value can occur in an object.
const OF_A_RULE: u64 = 10_000_000;
/// What all rules of a schema may cost.
const OF_A_SCHEMA: u64 = 100_000_000;
/// The largest request, which limits what says nothing of its size.
const REQUEST: u64 = 3 << 20;

/// The rules of a schema, and all of them together, that may cost more than Kubernetes allows.
pub(crate) fn check_costs(schema: &Schema, path: &str) -> Vec<FieldError> {
    let (mut errors, mut total) = (Vec::new(), 0);
    node(schema, path, Some(1), &mut total, &mut errors);
    if total > OF_A_SCHEMA {
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(
            path,
            &over_budget(what, total, OF_A_SCHEMA),
        ));
    }
    errors
}

/// `times` is how often the value can occur, if the lists and maps around it say it.
fn node(schema: &Schema, path: &str, times: Option<u64>, total: &mut u64, errors: &mut Vec<FieldError>) {
    if !schema.ruled {
        return;
    }
    for (i, rule) in schema.rules.iter().enumerate() {
        let times = times.unwrap_or(REQUEST / (smallest(schema) + 1));
        let once = estimate(rule.program.source(), &[("self", schema), ("oldSelf", schema)]);
        let cost = once.saturating_mul(times);
        *total = total.saturating_add(cost);
        if cost > OF_A_RULE {
            let field = format!("{}[{i}].rule", join(path, "x-kubernetes-validations"));
            errors.push(FieldError::forbidden(
                field,
                &over_budget("estimated rule cost", cost, OF_A_RULE),
            ));
        }
    }
    for (name, field) in &schema.properties {
        let path = format!("{}[{name}]", join(path, "properties"));
        node(field, &path, times, total, errors);
    }
    let below = |limit: Option<usize>| Some(times?.saturating_mul(limit? as u64));
    if let Some(items) = schema.items.as_deref() {
        let times = below(schema.checks.max_items);
        node(items, &join(path, "items"), times, total, errors);
    }
    if let Some(values) = schema.values() {
        let times = below(schema.checks.max_properties);
        node(values, &join(path, "additionalProperties"), times, total, errors);
    }
}

fn over_budget(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = match () {
        () if factor > 100.0 => "more than 100x".to_owned(),
        () if factor < 1.5 => format!("{factor:.6}x"),
        () => format!("{factor:.1}x"),
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

/// The fewest bytes that a value takes as JSON.
fn smallest(schema: &Schema) -> u64 {
    if schema.int_or_string {
        return 1;
    }
    match (schema.kind, schema.format()) {
        (Some(Kind::Integer | Kind::Number), _) => 1,
        (Some(Kind::Boolean), _) => 4,
        (Some(Kind::String), Some("date")) => 12,
        (Some(Kind::String), Some("date-time")) => 22,
        (Some(Kind::String), Some("duration")) => 4,
        (Some(Kind::Object), _) if schema.values().is_none() => {
            let required = schema.checks.required.iter().filter_map(|name| {
                let field = schema
                    .properties
                    .get(name)
                    .filter(|field| field.default.is_none())?;
                Some(name.len() as u64 + smallest(field) + 4)
            });
            2 + required.sum::<u64>()
        }
        _ => 2,
    }
}

impl Extent for Schema {
    fn field(&self, name: &str) -> Option<&dyn Extent> {
        self.properties.get(name).map(|field| &**field as &dyn Extent)
    }

    fn element(&self) -> Option<&dyn Extent> {
        let element = self.items.as_deref().or(self.values());
        element.map(|element| element as &dyn Extent)
    }

    fn most(&self) -> u64 {
        if let Some(items) = self.items.as_deref() {
            let limit = self.checks.max_items.map(|limit| limit as u64);
            return limit.unwrap_or((REQUEST - 2) / (smallest(items) + 1));
        }
        let limit = self.checks.max_properties.map(|limit| limit as u64);
        match self.values() {
            Some(values) => limit.unwrap_or((REQUEST - 2) / (smallest(values) + 6)),
            None => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::schema::compile;

    fn check(schema: Value) -> Vec<String> {
        let schema = compile(&schema, "").unwrap();
        check_costs(&schema, "").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_rule_that_could_go_through_too_much_is_refused() {
        let list = |rule: &str, limit: Option<u64>| {
            let mut inner = json!({
                "type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [{"rule": rule}],
            });
            let mut outer = json!({"type": "array"});
            if let Some(limit) = limit {
                inner["maxItems"] = limit.into();
                outer["maxItems"] = limit.into();
            }
            outer["items"] = inner;
            json!({"type": "object", "properties": {"x": outer}})
        };
        let rule = "self.all(s, s == 'string constant')";
        let refused = check(list(rule, None));
        assert_eq!(refused.len(), 2, "{refused:?}");
        let says = "properties[x].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget \
                    by factor of more than 100x";
        assert!(refused[0].starts_with(says), "{refused:?}");
        assert!(
            refused[1].contains("for entire OpenAPIv3 schema exceeds budget"),
            "{refused:?}"
        );
        assert_eq!(check(list(rule, Some(100))), Vec::<String>::new());
        assert_eq!(check(list("self.size() > 1", None)), Vec::<String>::new());
    }

    #[test]
    fn one_loop_over_a_list_without_a_limit_is_taken() {
        let taken = json!({"type": "object", "properties": {"x": {
            "type": "array", "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
            "x-kubernetes-validations": [{"rule": "self.all(x, x.name != '')"}],
        }}});
        assert_eq!(check(taken), Vec::<String>::new());
    }
}
