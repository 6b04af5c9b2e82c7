//! Values that are read back from objects.

use std::collections::BTreeSet;

use portolan_api::count::counted;
use portolan_api::work::{
    FeedbackRule, FeedbackType, FeedbackValue, FieldValue, FieldValueType, JsonPath as JsonPathRule,
};
use portolan_runtime::failure::shortened;
use serde::Serialize;
use serde_json::Value;

use super::json_path::JsonPath;
use super::well_known;
use crate::cost::{Cost, MOST_WORDS, Spent};
use crate::work::Target;

/// The longest text of a list or object that is read back; the API has no more room.
const LONGEST_RAW: usize = 1024;
/// The longest text that is read back.
const LONGEST_TEXT: usize = 32 * 1024;
/// Most problems that are named.
const MOST_PROBLEMS: usize = 20;
/// How much of a path is shown.
const SHOWN: usize = 200;
/// Units that a path costs to be read, beside its length.
const TO_READ: u64 = 100;
/// Units that a path costs whose name has a value already.
const PER_REPEAT: u64 = 10;

/// The values that the rules ask for, and what went wrong. A value that is not there yet is no error.
pub(super) fn feedback(
    target: &Target,
    object: &Value,
    cost: &mut Cost,
) -> (Vec<FeedbackValue>, Vec<String>) {
    let mut reading = Reading {
        object,
        cost,
        values: Vec::new(),
        // The API keeps them by name.
        names: BTreeSet::new(),
        problems: Vec::new(),
        more: 0,
    };
    // Once nothing may be spent any more, the rest is not looked at: a work may ask for thousands of values of thousands of objects.
    let mut rules = target.config.feedback.iter();
    if let Err(spent) = rules.try_for_each(|rule| reading.by_rule(rule, target)) {
        let rules = counted(target.config.feedback.len(), "feedback rule");
        let problem = format!("{spent}; not all values of {rules} were read");
        reading.problems.insert(0, problem);
    }
    if reading.more > 0 {
        reading.problems.push(format!("and {} more", reading.more));
    }
    (reading.values, reading.problems)
}

/// What is read back from one object.
struct Reading<'a> {
    object: &'a Value,
    cost: &'a mut Cost,
    values: Vec<FeedbackValue>,
    names: BTreeSet<String>,
    problems: Vec<String>,
    /// Problems that are not named.
    more: usize,
}

impl Reading<'_> {
    fn problem(&mut self, problem: String) {
        match self.problems.len() < MOST_PROBLEMS {
            true => self.problems.push(shortened(&problem, 4 * SHOWN)),
            false => self.more += 1,
        }
    }

    /// Reads what one rule asks for. Fails if nothing may be spent any more.
    fn by_rule(&mut self, rule: &FeedbackRule, target: &Target) -> Result<(), Spent> {
        match rule.r#type {
            FeedbackType::WellKnownStatus => {
                let mut paths = well_known::feedback(&target.id.group, &target.kind).iter();
                if paths.len() == 0 {
                    self.cost.spend(TO_READ)?;
                    self.problem(format!(
                        "there are no well-known values of the kind {}; accepted: JSONPaths",
                        target.kind
                    ));
                }
                paths.try_for_each(|(name, path)| self.read(name, path))
            }
            FeedbackType::JsonPaths => {
                // A list may be empty, and there may be thousands of them.
                self.cost.spend(1)?;
                let mut paths = rule.json_paths.iter();
                paths.try_for_each(|wanted| self.by_path(wanted, &target.version))
            }
        }
    }

    fn by_path(&mut self, wanted: &JsonPathRule, version: &str) -> Result<(), Spent> {
        let asked = wanted.version.as_deref().unwrap_or_default();
        if !asked.is_empty() && asked != version {
            self.cost.spend(TO_READ)?;
            self.problem(format!(
                "{}: the path is for version {asked:?}, the manifest has {version:?}",
                wanted.name
            ));
            return Ok(());
        }
        self.read(&wanted.name, &wanted.path)
    }

    /// Reads one value. Fails if nothing may be spent any more.
    fn read(&mut self, name: &str, path: &str) -> Result<(), Spent> {
        if self.names.contains(name) {
            return self.cost.spend(PER_REPEAT);
        }
        self.cost.spend(TO_READ + path.len() as u64)?;
        let shown = shortened(path, SHOWN);
        let found = JsonPath::parse(path).map_err(|why| format!("the path {shown:?}: {why}"));
        let found = match found {
            Ok(path) => path.find(self.object, self.cost),
            Err(why) => Err(why),
        };
        // One that visits too much by itself leaves something for the others.
        self.cost.spend(1)?;
        let value = match found.as_deref() {
            Ok([] | [Value::Null]) => return Ok(()),
            Ok([value]) => field_value(value),
            Ok(many) => raw(many),
            Err(why) => Err(why.clone()),
        };
        match value {
            Ok(field_value) => {
                let bytes = name.len()
                    + 64
                    + field_value.string.as_deref().map_or(0, str::len)
                    + field_value.json_raw.as_deref().map_or(0, str::len);
                if !self.cost.has_room(bytes) {
                    self.problem(format!(
                        "{name}: the values and messages of one work have more than {MOST_WORDS} bytes; accepted: fewer or \
                         shorter ones"
                    ));
                    return Ok(());
                }
                self.names.insert(name.to_owned());
                self.values.push(FeedbackValue {
                    name: name.to_owned(),
                    field_value,
                });
            }
            Err(why) => self.problem(format!("{name}: {why}")),
        }
        Ok(())
    }
}

fn field_value(value: &Value) -> Result<FieldValue, String> {
    let mut field = FieldValue::default();
    match value {
        Value::String(text) if text.len() > LONGEST_TEXT => {
            return Err(format!(
                "the value has {} bytes; accepted: {LONGEST_TEXT} or fewer",
                text.len()
            ));
        }
        Value::String(text) => {
            field.r#type = FieldValueType::String;
            field.string = Some(text.clone());
        }
        Value::Bool(truth) => {
            field.r#type = FieldValueType::Boolean;
            field.boolean = Some(*truth);
        }
        Value::Number(number) => match number.as_i64() {
            Some(integer) => {
                field.r#type = FieldValueType::Integer;
                field.integer = Some(integer);
            }
            // The API has no field for fractions.
            None => {
                field.r#type = FieldValueType::JsonRaw;
                field.json_raw = Some(number.to_string());
            }
        },
        value => return raw(value),
    }
    Ok(field)
}

/// The text of something that the API has no field for. What is too long is not written to its end.
fn raw(value: &(impl Serialize + ?Sized)) -> Result<FieldValue, String> {
    struct Short(Vec<u8>);
    impl std::io::Write for Short {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0.len() + bytes.len() > LONGEST_RAW {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut short = Short(Vec::new());
    let written = serde_json::to_writer(&mut short, value).ok();
    let text = written.and_then(|()| String::from_utf8(short.0).ok());
    let text = text.ok_or_else(|| {
        format!("the value has more than {LONGEST_RAW} bytes; accepted: {LONGEST_RAW} or fewer")
    })?;
    Ok(FieldValue {
        r#type: FieldValueType::JsonRaw,
        json_raw: Some(text),
        ..FieldValue::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::work::{Config, Manifest, ObjectId};

    fn target(rules: Value) -> Target {
        let manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
        Target {
            id: ObjectId::default(),
            version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            manifest: Manifest::read(&manifest).unwrap(),
            config: Config {
                feedback: serde_json::from_value::<Vec<_>>(rules).unwrap().into(),
                ..Config::default()
            },
        }
    }

    /// Thousands of paths of one kind, after one that costs nothing.
    fn many(path: &str) -> Target {
        let paths = (0..5_000).map(|number| json!({ "name": format!("p{number}"), "path": path }));
        let first = json!({ "name": "first", "path": ".data.k0" });
        let paths: Vec<Value> = std::iter::once(first).chain(paths).collect();
        target(json!([{ "type": "JSONPaths", "jsonPaths": paths }]))
    }

    #[test]
    fn all_paths_of_an_object_share_a_budget_and_what_they_give_has_an_end() {
        let keys = (0..2_000).map(|number| (format!("k{number}"), json!("v")));
        let object = json!({ "data": keys.collect::<serde_json::Map<_, _>>(), "text": "x".repeat(30_000) });
        let mut cost = Cost::of_work();
        let (values, problems) = feedback(&many("..*..*..nope"), &object, &mut cost);
        assert_eq!(cost.spent_in_all(), crate::cost::PER_OBJECT);
        assert_eq!(values.len(), 1, "what came first was read");
        assert!(
            problems[0].contains("one object cost more than 10000000 units"),
            "{problems:?}"
        );
        assert!(problems.len() < 30, "{}", problems.len());

        let (values, problems) = feedback(&many(".text"), &object, &mut Cost::of_work());
        let bytes: usize = values
            .iter()
            .filter_map(|value| value.field_value.string.as_ref())
            .map(String::len)
            .sum();
        assert!(bytes <= MOST_WORDS && values.len() > 2, "{bytes}");
        assert!(problems[0].contains("262144 bytes"), "{problems:?}");
    }

    #[test]
    fn every_value_that_is_asked_for_is_paid_for_also_if_nothing_is_read() {
        let paths: Vec<Value> = vec![json!({ "name": "same", "path": ".a" }); 2_000];
        let lists = [
            json!([{ "type": "JSONPaths", "jsonPaths": paths }]),
            vec![json!({ "type": "WellKnownStatus" }); 2_000].into(),
        ];
        for list in lists {
            let (target, mut cost) = (target(list), Cost::of_work());
            let mut last = Vec::new();
            for number in 0..2_000 {
                cost.enter(number);
                (_, last) = feedback(&target, &json!({ "a": 1 }), &mut cost);
            }
            assert_eq!(cost.spent_in_all(), crate::cost::PER_WORK);
            let [why] = last.as_slice() else {
                panic!("nothing but the budget is named: {last:?}")
            };
            assert!(why.contains("one work cost more than 20000000 units"), "{why}");
            assert!(why.contains("; not all values of "), "{why}");
        }
    }

    #[test]
    fn a_long_value_is_told_and_not_copied() {
        let rules =
            |path: &str| json!([{ "type": "JSONPaths", "jsonPaths": [{ "name": "a", "path": path }] }]);
        let object = json!({ "text": "x".repeat(40_000), "list": vec!["y".repeat(1000); 10] });
        for path in [".text", ".list", ".list[*]"] {
            let (values, problems) = feedback(&target(rules(path)), &object, &mut Cost::of_work());
            assert!(
                values.is_empty() && problems[0].contains("accepted"),
                "{path}: {problems:?}"
            );
        }
    }

    #[test]
    fn values_are_in_the_order_of_rules_and_paths_and_the_first_of_a_name_counts() {
        let rules = json!([
            { "type": "JSONPaths", "jsonPaths": [
                { "name": "z", "path": ".status.z" }, { "name": "Replicas", "path": ".status.z" },
            ] },
            { "type": "WellKnownStatus" },
        ]);
        let target = Target {
            id: ObjectId {
                group: "apps".to_owned(),
                ..ObjectId::default()
            },
            version: "v1".to_owned(),
            kind: "Deployment".to_owned(),
            manifest: Manifest::read(&json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "a" },
            }))
            .unwrap(),
            config: Config {
                feedback: serde_json::from_value::<Vec<_>>(rules).unwrap().into(),
                ..Config::default()
            },
        };
        let object =
            json!({ "status": { "z": 1, "replicas": 2, "readyReplicas": 3, "availableReplicas": 4 } });
        let (values, problems) = feedback(&target, &object, &mut Cost::of_work());
        let values: Vec<_> = values
            .iter()
            .map(|value| (value.name.as_str(), value.field_value.integer.unwrap()))
            .collect();
        assert_eq!(
            values,
            [
                ("z", 1),
                ("Replicas", 1),
                ("ReadyReplicas", 3),
                ("AvailableReplicas", 4)
            ]
        );
        assert!(problems.is_empty());
    }
}
