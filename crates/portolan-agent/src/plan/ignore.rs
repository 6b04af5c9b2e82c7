//! Fields of a manifest that are left as they are on the member cluster.

use portolan_api::FieldError;
use portolan_api::labels::ocm;
use portolan_api::work::{IgnoreField, IgnoreFieldsCondition};
use serde_json::{Value, json};

use super::jq::{Jq, Steps, weight};
use super::managed::Live;
use super::spec_hash::spec_hash;
use crate::cost::Cost;
use crate::report::{JsonPath, Key};
use crate::work::{InvalidManifest, Manifest};

/// The object that a manifest is applied to.
pub(crate) struct There<'o> {
    pub(crate) object: &'o Value,
    /// Whether the work says that its present generation was applied, by this agent or another one.
    pub(crate) is_settled: bool,
}

/// What is applied: the manifest without the ignored fields that others hold, and with the others as the object has them. A
/// field that is left out would be removed if it has no other manager; a field that is applied would conflict with its other
/// managers.
///
/// `OnSpokePresent` is always ignored, `OnSpokeChange` only while the manifest is the one that the object was last applied
/// from, which the object itself remembers.
pub(super) fn with_ignored(
    manifest: &Manifest,
    there: Option<&There<'_>>,
    manager: &str,
    ignored: &[IgnoreField],
    cost: &mut Cost,
) -> Result<Value, InvalidManifest> {
    let mut body = manifest.body.clone();
    if ignored.is_empty() {
        return Ok(body);
    }
    let on_change = |field: &IgnoreField| field.condition == Some(IgnoreFieldsCondition::OnSpokeChange);
    let expressions_of_jq = ignored.iter().map(|field| field.jq_path_expressions.len());
    if expressions_of_jq.sum::<usize>() > MOST_JQ {
        return Err(InvalidManifest(format!(
            "ignoreFields.jqPathExpressions are more than {MOST_JQ}; accepted: {MOST_JQ} or fewer for one object"
        )));
    }
    let mut steps = Steps::new(cost);
    let mut hashed = manifest.hashed();
    let copy = weight(&hashed);
    for field in ignored {
        // All are read, so that what is wrong with one is said at once.
        pay(&mut steps, copy)?;
        let mut left_out = hashed.clone();
        for listed in listed(field) {
            pay(&mut steps, listed.to_read())?;
            let expression = listed.read()?;
            for place in expression.places(&left_out, &mut steps)? {
                let moved = put(&mut left_out, &place, None);
                pay(&mut steps, moved / 16)?;
            }
        }
        if !on_change(field) {
            hashed = left_out;
        }
    }
    let mut hash = spec_hash(&hashed);
    if let Some(there) = there {
        let noted = there.object.pointer("/metadata/annotations");
        let noted = noted
            .and_then(|noted| noted.get(ocm::SPEC_HASH))
            .and_then(Value::as_str);
        let unchanged = there.is_settled || noted == Some(&hash);
        if let (true, Some(noted)) = (there.is_settled, noted) {
            // Another annotation would be an edit of a Deployment, and nothing was edited.
            noted.clone_into(&mut hash);
        }
        let there_weight = weight(there.object);
        for field in ignored.iter().filter(|field| unchanged || !on_change(field)) {
            for listed in listed(field) {
                pay(&mut steps, listed.to_read() + copy)?;
                let expression = listed.read()?;
                let before = body.clone();
                for place in expression.places(&before, &mut steps)? {
                    // An element is looked for among all of its list, and its manager among all managers.
                    let is_searched = place.iter().any(|key| matches!(key, Key::Index(_)));
                    pay(&mut steps, if is_searched { there_weight } else { place.len() })?;
                    let live = Live::of(there.object, manager).at(&before, &place);
                    let moved = put(&mut body, &place, live.and_then(Live::unless_held_by_others));
                    pay(&mut steps, moved / 16)?;
                }
            }
        }
    }
    let annotations = &mut body["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = json!({});
    }
    annotations[ocm::SPEC_HASH] = hash.into();
    Ok(body)
}

/// Most expressions of jq for one object.
const MOST_JQ: usize = 16;
/// Pays for steps that are none of an expression.
fn pay(steps: &mut Steps<'_>, number: usize) -> Result<(), InvalidManifest> {
    let paid = steps.cost().step(number);
    paid.map_err(|spent| InvalidManifest(format!("ignoreFields: {spent}")))
}

/// Something that names places in an object.
enum Expression<'f> {
    Jq(&'f str, Jq),
    Pointer(&'f str),
    /// The name goes from every match of the rest.
    Path(&'f str, JsonPath, String),
}

impl<'f> Expression<'f> {
    fn jq(text: &'f str) -> Result<Self, String> {
        Ok(Expression::Jq(text, Jq::parse(text)?))
    }

    fn path(text: &'f str) -> Result<Self, String> {
        let path = JsonPath::parse(text)?;
        match path.split_last_name() {
            Some((rest, name)) => Ok(Expression::Path(text, rest, name.to_owned())),
            None => Err("it does not end with the name of a field; accepted: .spec.replicas".to_owned()),
        }
    }

    fn pointer(text: &'f str) -> Result<Self, String> {
        match text.strip_prefix('/') {
            Some(_) => Ok(Expression::Pointer(text)),
            None => Err("this is no JSON pointer; accepted: /spec/replicas".to_owned()),
        }
    }
}

/// An expression of one of the lists of a field.
struct Listed<'f> {
    list: &'static str,
    position: usize,
    text: &'f str,
    /// Gives the expression, or what is wrong with the text.
    parse: fn(&'f str) -> Result<Expression<'f>, String>,
}

fn listed(field: &IgnoreField) -> impl Iterator<Item = Listed<'_>> {
    fn of<'f>(
        list: &'static str,
        texts: &'f [String],
        parse: fn(&'f str) -> Result<Expression<'f>, String>,
    ) -> impl Iterator<Item = Listed<'f>> {
        texts.iter().enumerate().map(move |(position, text)| Listed {
            list,
            position,
            text,
            parse,
        })
    }
    of("jsonPaths", &field.json_paths, Expression::path)
        .chain(of("jsonPointers", &field.json_pointers, Expression::pointer))
        .chain(of(
            "jqPathExpressions",
            &field.jq_path_expressions,
            Expression::jq,
        ))
}

impl<'f> Listed<'f> {
    /// Steps that it takes to read it.
    fn to_read(&self) -> usize {
        match self.list {
            // A pattern becomes a program.
            "jqPathExpressions" => 500 + 1_500 * self.text.matches("test").count(),
            _ => 50,
        }
    }

    fn read(&self) -> Result<Expression<'f>, InvalidManifest> {
        let Listed { list, text, .. } = self;
        (self.parse)(text).map_err(|why| InvalidManifest(format!("ignoreFields.{list} {text:?}: {why}")))
    }
}

/// Everything in the field that names no places, whatever the object is. `path` is where the field stands.
pub(crate) fn ignored_mistakes(field: &IgnoreField, path: &str) -> Vec<FieldError> {
    let mistake = |Listed {
                       list,
                       position,
                       text,
                       parse,
                   }: Listed<'_>| {
        let why = parse(text).err()?;
        // Some of the problems say what is accepted, others the general rule.
        let (problem, accepted) = why
            .split_once("; accepted: ")
            .unwrap_or((&why, "an expression that names fields"));
        Some(FieldError::of_text(
            format!("{path}.{list}[{position}]"),
            text,
            problem,
            accepted,
        ))
    };
    listed(field).filter_map(mistake).collect()
}

impl Expression<'_> {
    /// The places in the object that it names, the last one first: to take one away moves none that is still to go.
    fn places(&self, object: &Value, steps: &mut Steps<'_>) -> Result<Vec<Vec<Key>>, InvalidManifest> {
        let mut places = match self {
            Expression::Jq(text, jq) => jq
                .places(object, steps)
                .map_err(|why| InvalidManifest(format!("ignoreFields.jqPathExpressions {text:?}: {why}")))?,
            Expression::Pointer(pointer) => by_pointer(pointer, object).into_iter().collect(),
            Expression::Path(text, rest, name) => {
                let parents = rest.places(object, steps.cost());
                let parents = parents
                    .map_err(|why| InvalidManifest(format!("ignoreFields.jsonPaths {text:?}: {why}")))?;
                let named = parents
                    .into_iter()
                    .filter(|(_, parent)| parent.get(name).is_some());
                named
                    .map(|(place, _)| place.then(Key::Field(name.as_str().into())).keys())
                    .collect::<Vec<_>>()
            }
        };
        places.sort();
        places.dedup();
        places.reverse();
        match places.iter().any(|place| is_identity(place)) {
            false => Ok(places),
            true => Err(InvalidManifest(format!(
                "ignoreFields {:?} names what tells the object from others; accepted: fields other than apiVersion, kind, \
                 metadata.name and metadata.namespace",
                self.text()
            ))),
        }
    }

    fn text(&self) -> &str {
        match self {
            Expression::Pointer(text) | Expression::Path(text, ..) | Expression::Jq(text, _) => text,
        }
    }
}

/// Whether an object without it would be another one.
fn is_identity(place: &[Key]) -> bool {
    let names: Vec<&str> = place
        .iter()
        .map(|key| match key {
            Key::Field(name) => name,
            Key::Index(_) => "",
        })
        .collect();
    matches!(
        names.as_slice(),
        [] | ["apiVersion" | "kind" | "metadata"] | ["metadata", "name" | "namespace"]
    )
}

fn by_pointer(pointer: &str, object: &Value) -> Option<Vec<Key>> {
    let mut value = object;
    let mut place = Vec::new();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let key = match value {
            Value::Array(_) => Key::Index(step.parse().ok()?),
            _ => Key::Field(step.into()),
        };
        value = key.of(value)?;
        place.push(key);
    }
    Some(place)
}

/// Sets the field, or takes it away. Its parent is there. How many elements of a list had to move.
fn put(body: &mut Value, place: &[Key], value: Option<Value>) -> usize {
    let Some((last, parents)) = place.split_last() else {
        return 0;
    };
    let mut parent = body;
    for key in parents {
        let next = match key {
            Key::Field(name) => parent.get_mut(&**name),
            Key::Index(index) => parent.get_mut(index),
        };
        match next {
            Some(next) => parent = next,
            None => return 0,
        }
    }
    match (parent, last, value) {
        (Value::Object(fields), Key::Field(name), Some(value)) => {
            drop(fields.insert(name.to_string(), value))
        }
        (Value::Object(fields), Key::Field(name), None) => drop(fields.remove(&**name)),
        (Value::Array(items), Key::Index(index), value) if *index < items.len() => match value {
            Some(value) => items[*index] = value,
            None => {
                items.remove(*index);
                return items.len() - index;
            }
        },
        _ => {}
    }
    0
}

#[cfg(test)]
#[path = "ignore_tests.rs"]
mod tests;
