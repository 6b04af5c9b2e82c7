//! A rollout strategy whose every value has been checked.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use portolan_api::work::{MandatoryDecisionGroup, RolloutConfig, RolloutStrategy, RolloutType};
use portolan_api::{FieldError, duration, spelling};
use serde_json::json;

use crate::amount::Amount;
use crate::groups::{GroupKey, Groups};

/// In which steps a workload reaches the clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct Strategy {
    /// The type with what only it has.
    pub kind: Kind,
    /// How long a cluster may take; `None` is no limit.
    pub deadline: Option<Duration>,
    /// How long a cluster has to stay successful before it counts. Type `All` does not wait for it.
    pub soak: Duration,
    /// How many clusters may fail: of all clusters, or of each group. Type `All` does not stop at it.
    pub max_failures: Amount,
    /// Settings that do something else than they seem to.
    pub warnings: Vec<FieldError>,
}

/// The three types.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// All clusters at once.
    All,
    /// A bounded number of clusters at a time.
    Progressive {
        /// Groups that have to succeed first.
        mandatory: Vec<Mandatory>,
        /// How many clusters may be in progress at once; `None` is all.
        max_concurrency: Option<Amount>,
    },
    /// One group after the other.
    ProgressivePerGroup {
        /// Groups that have to succeed first.
        mandatory: Vec<Mandatory>,
    },
}

/// A reference to groups that have to succeed first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mandatory {
    /// Every group of this name.
    Name {
        /// The name.
        name: String,
        /// The field that says so.
        path: String,
    },
    /// The groups at this position. A position may have no group at the moment: groups are cut by size.
    Index {
        /// The position.
        index: i32,
        /// The field that says so.
        path: String,
    },
}

impl Mandatory {
    fn matches(&self, key: &GroupKey) -> bool {
        match self {
            Mandatory::Name { name, .. } => *name == key.group_name,
            Mandatory::Index { index, .. } => *index == key.group_index,
        }
    }
}

impl Strategy {
    /// How long a cluster has to stay successful before it is done: not at all with `All`.
    pub fn soak_time(&self) -> Duration {
        match self.kind {
            Kind::All => Duration::ZERO,
            _ => self.soak,
        }
    }

    /// Checks a strategy. `path` is where it stands, for errors. Settings of the other types have no effect, but a
    /// value that cannot be read is refused there as well.
    pub fn new(strategy: &RolloutStrategy, path: &str) -> Result<Strategy, Vec<FieldError>> {
        let mut check = Check { errors: Vec::new() };
        let kind = strategy.r#type.unwrap_or_default();
        let default = RolloutConfig::default();

        let all_path = format!("{path}.all");
        let all = strategy.all.as_ref().map_or(&default, |all| &all.config);
        let all = check.config(all, &all_path);

        let progressive_path = format!("{path}.progressive");
        let progressive = strategy.progressive.clone().unwrap_or_default();
        let steps = check.config(&progressive.config, &progressive_path);
        let max_concurrency = check.amount(
            progressive.max_concurrency.as_ref(),
            &progressive_path,
            "maxConcurrency",
        );
        let mandatory = check.mandatory(&progressive.mandatory_decision_groups, &progressive_path);

        let per_group_path = format!("{path}.progressivePerGroup");
        let per_group = strategy.progressive_per_group.clone().unwrap_or_default();
        let groups = check.config(&per_group.config, &per_group_path);
        let mandatory_groups = check.mandatory(&per_group.mandatory_decision_groups, &per_group_path);

        if !check.errors.is_empty() {
            return Err(check.errors);
        }
        let mut warnings = strategy.settings_without_effect(path);
        if let Some(value) = &progressive.max_concurrency
            && kind == RolloutType::Progressive
            && max_concurrency.is_some_and(Amount::is_nothing)
        {
            warnings.push(FieldError::new(
                format!("{progressive_path}.maxConcurrency"),
                &json!(value),
                "this starts every cluster at once, not none",
                "a whole number from 1, or 1% to 100%; leave it out for every cluster at once",
            ));
        }
        let (kind, config) = match kind {
            RolloutType::All => (Kind::All, all),
            RolloutType::Progressive => {
                let kind = Kind::Progressive {
                    mandatory,
                    max_concurrency,
                };
                (kind, steps)
            }
            RolloutType::ProgressivePerGroup => {
                let kind = Kind::ProgressivePerGroup {
                    mandatory: mandatory_groups,
                };
                (kind, groups)
            }
        };
        Ok(Strategy {
            kind,
            deadline: config.deadline,
            soak: config.soak,
            max_failures: config.max_failures,
            warnings,
        })
    }

    /// The references to groups that have to succeed first.
    pub fn mandatory(&self) -> &[Mandatory] {
        match &self.kind {
            Kind::All => &[],
            Kind::Progressive { mandatory, .. } | Kind::ProgressivePerGroup { mandatory } => mandatory,
        }
    }

    /// Whether a group has to succeed before any other cluster is started.
    pub fn is_mandatory(&self, key: &GroupKey) -> bool {
        self.mandatory().iter().any(|reference| reference.matches(key))
    }

    /// Refuses names that no group has: passing over a canary because its name is misspelled would be worse.
    pub fn check_names(&self, groups: &Groups) -> Result<(), Vec<FieldError>> {
        let names: Vec<&str> = groups.names().into_iter().collect();
        let accepted = match names.as_slice() {
            [] => "a group that the placement has; none of its groups has a name".to_owned(),
            names => format!("a group that the placement has: {}", names.join(", ")),
        };
        let unknown = |reference: &Mandatory| match reference {
            Mandatory::Name { name, path } if !groups.has_name(name) => Some(FieldError::new(
                path,
                &json!(name),
                "there is no such group",
                accepted.clone(),
            )),
            _ => None,
        };
        let errors: Vec<FieldError> = self.mandatory().iter().filter_map(unknown).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Positions that no group has. The rollout waits for nobody there, since groups are cut by size and there may be more
    /// of them later; hardly anybody means that.
    pub fn absent_positions(&self, groups: &Groups) -> Vec<FieldError> {
        let positions = groups.indexes();
        let accepted = match (positions.first(), positions.last()) {
            (Some(first), Some(last)) if first < last => {
                format!("a position that the placement has: {first} to {last}")
            }
            (Some(only), _) => format!("a position that the placement has: {only}"),
            (None, _) => "a position that the placement has; it has no group".to_owned(),
        };
        let absent = |reference: &Mandatory| match reference {
            Mandatory::Index { index, path } if !groups.has_index(*index) => Some(FieldError::new(
                path,
                &json!(index),
                "there is no group at this position, and nothing is waited for",
                accepted.clone(),
            )),
            _ => None,
        };
        self.mandatory().iter().filter_map(absent).collect()
    }
}

/// The settings that all types share.
struct Config {
    deadline: Option<Duration>,
    soak: Duration,
    max_failures: Amount,
}

/// Reads values and collects what is wrong with them, so that all of it is said at once.
struct Check {
    errors: Vec<FieldError>,
}

impl Check {
    fn config(&mut self, config: &RolloutConfig, path: &str) -> Config {
        let soak = config.min_success_time.as_deref().unwrap_or("0");
        let soak = self.duration(soak, path, "minSuccessTime", duration::DURATION, duration::parse);
        let deadlines = [
            ("progressDeadline", &config.progress_deadline),
            ("timeout", &config.timeout),
        ];
        let accepted = format!("{}, or None for no limit", duration::DURATION);
        // `timeout` counts where `progressDeadline` sets no limit: a server fills in `None`.
        let deadline = deadlines
            .into_iter()
            .filter_map(|(field, text)| {
                self.duration(text.as_deref()?, path, field, &accepted, duration::parse_deadline)
                    .flatten()
            })
            .reduce(|first, _| first);
        Config {
            deadline,
            soak: soak.unwrap_or_default(),
            max_failures: self
                .amount(config.max_failures.as_ref(), path, "maxFailures")
                .unwrap_or(Amount::NONE),
        }
    }

    fn duration<T>(
        &mut self,
        text: &str,
        path: &str,
        field: &str,
        accepted: &str,
        parse: impl Fn(&str) -> Result<T, duration::DurationError>,
    ) -> Option<T> {
        match parse(text) {
            Ok(value) => Some(value),
            Err(error) => {
                let path = format!("{path}.{field}");
                let accepted = spelling::accepted_duration(text, accepted);
                self.errors
                    .push(FieldError::new(path, &json!(text), error.to_string(), accepted));
                None
            }
        }
    }

    fn amount(&mut self, value: Option<&IntOrString>, path: &str, field: &str) -> Option<Amount> {
        match Amount::parse(value?, &format!("{path}.{field}")) {
            Ok(amount) => Some(amount),
            Err(error) => {
                self.errors.push(error);
                None
            }
        }
    }

    fn mandatory(&mut self, groups: &[MandatoryDecisionGroup], path: &str) -> Vec<Mandatory> {
        let mut references = Vec::with_capacity(groups.len());
        for (position, group) in groups.iter().enumerate() {
            let path = format!("{path}.mandatoryDecisionGroups[{position}]");
            match (&group.group_name, group.group_index) {
                (Some(name), _) if !name.is_empty() => references.push(Mandatory::Name {
                    name: name.clone(),
                    path: format!("{path}.groupName"),
                }),
                (_, Some(index)) if index < 0 => self.errors.push(FieldError::new(
                    format!("{path}.groupIndex"),
                    &json!(index),
                    "a negative number",
                    "a whole number from 0, or groupName instead",
                )),
                // Clients written in Go leave out an index of 0.
                (_, index) => references.push(Mandatory::Index {
                    index: index.unwrap_or(0),
                    path: format!("{path}.groupIndex"),
                }),
            }
        }
        references
    }
}
