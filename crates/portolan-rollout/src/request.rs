//! What is known at one moment, as a document: read strictly, so that a slip is an error and not another answer.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use portolan_api::duration::DurationError;
use portolan_api::work::{self, RolloutStrategy};
use portolan_api::{FieldError, spelling, structural};
use serde_json::{Map, Value, json};

use crate::cluster::{Existing, Status};
use crate::groups::{GroupKey, Groups};
use crate::plan::{Input, Plan, plan};
use crate::strategy::{Mandatory, Strategy};

const FIELDS: [&str; 5] = ["strategy", "groups", "existing", "unreachable", "now"];
const GROUP_FIELDS: [&str; 3] = ["groupName", "groupIndex", "clusters"];
const EXISTING_FIELDS: [&str; 5] = [
    "clusterName",
    "groupKey",
    "status",
    "lastTransitionTime",
    "recheckTime",
];
const KEY_FIELDS: [&str; 2] = ["groupName", "groupIndex"];
const TIME: &str = "a time in RFC 3339, such as 2026-01-31T08:00:00Z";

/// A rollout at one moment: `{strategy, groups, existing, unreachable, now}`.
#[derive(Clone, Debug)]
pub struct Request {
    /// In which steps.
    pub strategy: Strategy,
    /// The groups of the decision.
    pub groups: Groups,
    /// The clusters that have the workload.
    pub existing: Vec<Existing>,
    /// The clusters that cannot be reached.
    pub unreachable: BTreeSet<String>,
    /// The time, where the document says it.
    pub now: Option<Timestamp>,
    /// Fields that nobody knows, which were passed over.
    pub ignored: Vec<String>,
}

impl Request {
    /// Reads a document, or says everything that is wrong with it.
    pub fn read(document: &Value) -> Result<Request, Vec<FieldError>> {
        let mut reader = Reader::default();
        let fields = reader.object(
            document,
            "",
            "an object with strategy, groups, existing, unreachable and now",
        );
        let fields = fields.unwrap_or(&reader.nothing).clone();
        reader.known(&fields, "", &FIELDS);
        let strategy = match fields.get("strategy") {
            Some(value) => reader.strategy(value),
            None => {
                reader.missing("strategy", "an object such as {type: Progressive}");
                None
            }
        };
        if !fields.contains_key("groups") {
            reader.missing("groups", "a list of {groupName, groupIndex, clusters}");
        }
        let groups = reader.groups(&fields);
        let existing = reader.existing(&fields);
        let unreachable = reader.names(&fields, "", "unreachable").into_iter().collect();
        let now = reader.time(&fields, "", "now");
        match strategy {
            Some(strategy) if reader.errors.is_empty() => Ok(Request {
                strategy,
                groups,
                existing,
                unreachable,
                now,
                ignored: reader.ignored,
            }),
            _ => Err(reader.errors),
        }
    }

    /// Positions that have to succeed first and have no group now: they hold nothing back, which is worth a remark.
    pub fn missing_positions(&self) -> Vec<i32> {
        let missing = |reference: &Mandatory| match reference {
            Mandatory::Index { index, .. } if !self.groups.has_index(*index) => Some(*index),
            _ => None,
        };
        self.strategy.mandatory().iter().filter_map(missing).collect()
    }

    /// What happens now. `now` counts where the document names no time.
    pub fn plan(&self, now: Timestamp) -> Result<Plan, Vec<FieldError>> {
        let input = Input {
            groups: &self.groups,
            existing: &self.existing,
            unreachable: &self.unreachable,
            now: self.now.unwrap_or(now),
        };
        plan(&self.strategy, &input)
    }
}

/// Collects what is wrong and what is passed over.
#[derive(Default)]
struct Reader {
    errors: Vec<FieldError>,
    ignored: Vec<String>,
    nothing: Map<String, Value>,
}

fn join(path: &str, field: &str) -> String {
    if path.is_empty() {
        field.to_owned()
    } else {
        format!("{path}.{field}")
    }
}

impl Reader {
    fn refuse(&mut self, path: impl ToString, value: &Value, problem: &str, accepted: impl Into<String>) {
        self.errors.push(FieldError::new(path, value, problem, accepted));
    }

    fn missing(&mut self, path: impl ToString, accepted: &str) {
        self.errors.push(FieldError::missing(path, accepted));
    }

    fn object<'v>(&mut self, value: &'v Value, path: &str, accepted: &str) -> Option<&'v Map<String, Value>> {
        let fields = value.as_object();
        if fields.is_none() {
            self.refuse(path, value, "not an object", accepted);
        }
        fields
    }

    /// A name that resembles one we know is a slip; any other is passed over, as an API server would.
    fn known(&mut self, fields: &Map<String, Value>, path: &str, known: &[&str]) {
        for (name, value) in fields.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
            match spelling::did_you_mean(name, known.iter().copied()) {
                Some(meant) => {
                    let accepted = format!("{meant}, the right spelling");
                    self.refuse(join(path, name), value, "there is no such field here", accepted);
                }
                None => self.ignored.push(join(path, name)),
            }
        }
    }

    fn list<'v>(&mut self, fields: &'v Map<String, Value>, path: &str, field: &str, of: &str) -> &'v [Value] {
        match fields.get(field) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.refuse(join(path, field), other, "not a list", format!("a list of {of}"));
                &[]
            }
        }
    }

    fn names(&mut self, fields: &Map<String, Value>, path: &str, field: &str) -> Vec<String> {
        let mut names = Vec::new();
        for (position, item) in self.list(fields, path, field, "cluster names").iter().enumerate() {
            match item {
                Value::String(name) if !name.is_empty() => names.push(name.clone()),
                other => {
                    let path = format!("{}[{position}]", join(path, field));
                    self.refuse(path, other, "not a name", "the name of a cluster");
                }
            }
        }
        names
    }

    fn time(&mut self, fields: &Map<String, Value>, path: &str, field: &str) -> Option<Timestamp> {
        match fields.get(field) {
            None | Some(Value::Null) => None,
            Some(value) => {
                let time = value.as_str().and_then(|text| text.parse().ok());
                if time.is_none() {
                    self.refuse(join(path, field), value, "not a time", TIME);
                }
                time
            }
        }
    }

    fn groups(&mut self, fields: &Map<String, Value>) -> Groups {
        let mut groups = Groups::new();
        for (position, item) in self.list(fields, "", "groups", "groups").iter().enumerate() {
            let path = format!("groups[{position}]");
            let Some(fields) = self.object(item, &path, "an object with groupName, groupIndex and clusters")
            else {
                continue;
            };
            self.known(fields, &path, &GROUP_FIELDS);
            if !fields.contains_key("groupIndex") {
                self.missing(join(&path, "groupIndex"), "a whole number from 0");
            }
            let key = self.key(fields, &path);
            let clusters = self.names(fields, &path, "clusters");
            groups.add(key, clusters);
        }
        groups
    }

    fn key(&mut self, fields: &Map<String, Value>, path: &str) -> GroupKey {
        let mut key = GroupKey::default();
        match fields.get("groupName") {
            None | Some(Value::Null) => {}
            Some(Value::String(name)) => key.group_name.clone_from(name),
            Some(other) => self.refuse(
                join(path, "groupName"),
                other,
                "not a text",
                "the name of a group, or nothing",
            ),
        }
        match fields.get("groupIndex") {
            None | Some(Value::Null) => {}
            Some(value) => match value
                .as_i64()
                .and_then(|index| i32::try_from(index).ok())
                .filter(|index| *index >= 0)
            {
                Some(index) => key.group_index = index,
                None => self.refuse(
                    join(path, "groupIndex"),
                    value,
                    "not a position",
                    "a whole number from 0",
                ),
            },
        }
        key
    }

    fn existing(&mut self, fields: &Map<String, Value>) -> Vec<Existing> {
        let mut existing = Vec::new();
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for (position, item) in self.list(fields, "", "existing", "clusters").iter().enumerate() {
            let path = format!("existing[{position}]");
            let Some(fields) = self.object(item, &path, "an object with clusterName, groupKey and status")
            else {
                continue;
            };
            self.known(fields, &path, &EXISTING_FIELDS);
            let name = self.text(fields, &path, "clusterName", "the name of a cluster");
            let status = self.status(fields, &path);
            let group_key = match fields.get("groupKey") {
                None | Some(Value::Null) => None,
                Some(value) => {
                    let path = join(&path, "groupKey");
                    let key = self
                        .object(value, &path, "an object with groupName and groupIndex")
                        .cloned();
                    key.map(|key| {
                        self.known(&key, &path, &KEY_FIELDS);
                        self.key(&key, &path)
                    })
                }
            };
            let last_transition_time = self.time(fields, &path, "lastTransitionTime");
            let (Some(cluster_name), Some(status)) = (name, status) else {
                continue;
            };
            if let Some(first) = seen.insert(cluster_name.clone(), path.clone()) {
                let problem = format!("the cluster is there twice, first as {first}");
                self.refuse(
                    join(&path, "clusterName"),
                    &json!(cluster_name),
                    &problem,
                    "each cluster once",
                );
                continue;
            }
            existing.push(Existing {
                cluster_name,
                group_key,
                status,
                last_transition_time,
                first_report_time: None,
            });
        }
        existing
    }

    fn text(
        &mut self,
        fields: &Map<String, Value>,
        path: &str,
        field: &str,
        accepted: &str,
    ) -> Option<String> {
        match fields.get(field) {
            Some(Value::String(text)) if !text.is_empty() => return Some(text.clone()),
            None | Some(Value::Null) => self.missing(join(path, field), accepted),
            Some(other) => self.refuse(join(path, field), other, "not a name", accepted),
        }
        None
    }

    fn status(&mut self, fields: &Map<String, Value>, path: &str) -> Option<Status> {
        let accepted = Status::NAMES.join(", ");
        match fields.get("status") {
            None | Some(Value::Null) => self.missing(join(path, "status"), &accepted),
            Some(value) => match serde_json::from_value(value.clone()) {
                Ok(status) => return Some(status),
                Err(_) => self.refuse(join(path, "status"), value, "not a status", accepted),
            },
        }
        None
    }

    /// A strategy is a part of a replica set, and its spelling and types are judged by the definition of that kind.
    fn strategy(&mut self, value: &Value) -> Option<Strategy> {
        const PLACE: &str = "spec.placementRefs[0].rolloutStrategy";
        let whole = json!({
            "apiVersion": format!("{}/v1alpha1", work::GROUP),
            "kind": "ManifestWorkReplicaSet",
            "metadata": { "name": "x" },
            "spec": { "placementRefs": [{ "name": "x", "rolloutStrategy": value }] },
        });
        let moved = |path: &str| path.strip_prefix(PLACE).map(|rest| format!("strategy{rest}"));
        let here = |errors: Vec<FieldError>| -> Vec<FieldError> {
            let moved = |mut error: FieldError| {
                error.path = moved(&error.path)?;
                Some(error)
            };
            errors.into_iter().filter_map(moved).collect()
        };
        // Values of durations are judged below, with the form that is accepted.
        let is_name = |error: &FieldError| {
            !error.problem.contains("value") && error.problem != DurationError::Syntax.to_string()
        };
        let misspelled: Vec<FieldError> = here(spelling::misspellings("", &whole))
            .into_iter()
            .filter(is_name)
            .collect();
        let typed = serde_json::from_value::<RolloutStrategy>(value.clone());
        let kind = structural::kind_of(&whole).ok()?;
        let wrong_types = match &typed {
            Ok(_) => Vec::new(),
            Err(_) => here(kind.validate(&whole)),
        };
        let is_found = |path: &str| misspelled.iter().any(|error| error.path == path);
        let unknown = kind
            .schema
            .unknown_fields(&whole)
            .into_iter()
            .filter_map(|field| moved(&field.path));
        self.ignored.extend(unknown.filter(|path| !is_found(path)));
        let count = self.errors.len();
        self.errors
            .extend(wrong_types.into_iter().filter(|error| !is_found(&error.path)));
        self.errors.extend(misspelled);
        match typed.map(|strategy| Strategy::new(&strategy, "strategy")) {
            Ok(Ok(strategy)) if self.errors.len() == count => return Some(strategy),
            Ok(Ok(_)) => {}
            Ok(Err(errors)) => self.errors.extend(errors),
            Err(_) if self.errors.len() > count => {}
            Err(error) => self.refuse("strategy", value, &error.to_string(), "a rollout strategy"),
        }
        None
    }
}
