//! Expressions and what another implementation of jq deletes for them. OCM's agent uses that implementation, gojq.

use super::*;
use crate::cost::Cost;

/// A line for the reader, the object, then one expression a line with a tab and what is left of the object.
const RECORDED: &str = include_str!("recorded.txt");

/// What is left of the object, or nothing if the expression fails on it.
fn left(jq: &Jq, object: &Value) -> Option<Value> {
    let mut places = jq.places(object, &mut Steps::new(&mut Cost::of_work())).ok()?;
    places.sort();
    places.dedup();
    let mut left = object.clone();
    for place in places.iter().rev() {
        left = without(left, place);
    }
    Some(left)
}

fn without(value: Value, place: &[Key]) -> Value {
    let Some((key, rest)) = place.split_first() else {
        return Value::Null;
    };
    match (value, key) {
        (Value::Object(mut fields), Key::Field(name)) => {
            if let Some(child) = fields.remove(&**name)
                && !rest.is_empty()
            {
                fields.insert(name.to_string(), without(child, rest));
            }
            Value::Object(fields)
        }
        (Value::Array(mut items), Key::Index(index)) if *index < items.len() => {
            let child = items.remove(*index);
            if !rest.is_empty() {
                items.insert(*index, without(child, rest));
            }
            Value::Array(items)
        }
        (other, _) => other,
    }
}

#[test]
fn what_is_accepted_deletes_what_gojq_deletes() {
    let mut lines = RECORDED.lines().skip(1);
    let object: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let (mut compared, mut differences) = (0, Vec::new());
    for line in lines {
        let (text, recorded) = line.split_once('\t').unwrap();
        let Ok(jq) = Jq::parse(text) else {
            continue;
        };
        compared += 1;
        let expected = match recorded {
            "error" => None,
            "unchanged" => Some(object.clone()),
            left => Some(serde_json::from_str(left).unwrap()),
        };
        if left(&jq, &object) != expected {
            differences.push(line);
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(compared >= 550, "only {compared} of the expressions are accepted");
}
