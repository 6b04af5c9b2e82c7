//! Prioritizers: a score for each cluster that passed the filters. One file a plugin.

pub(crate) mod add_on;
pub(crate) mod balance;
pub(crate) mod property;
pub(crate) mod resource_allocatable;
pub(crate) mod scale;
pub(crate) mod steady;

use std::sync::Arc;

use jiff::Timestamp;
use portolan_api::cluster::{PrioritizerConfig, PrioritizerPolicy, ScoreCoordinate};

use crate::fleet::{ClusterId, Clusters, Fleet};
use crate::mistakes::{self, Mistake};
use crate::prior::Prior;
use crate::status::Status;
use crate::warnings::Warning;

/// Largest score of a single prioritizer.
pub(crate) const MAX_SCORE: i64 = 100;

/// What produces a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Prioritizer {
    Balance,
    Steady,
    ResourceAllocatableCPU,
    ResourceAllocatableMemory,
    AddOn { resource: Arc<str>, score: Arc<str> },
    Property { property: Arc<str> },
}

/// A prioritizer with its weight, never 0.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    pub(crate) prioritizer: Prioritizer,
    pub(crate) weight: i64,
    /// Position of the configuration that asks for it; none for a default.
    pub(crate) configuration: Option<usize>,
}

/// Everything a prioritizer may look at.
pub(crate) struct Input<'a> {
    pub(crate) fleet: &'a Fleet,
    /// The clusters that passed the filters, in id order.
    pub(crate) clusters: &'a [ClusterId],
    /// The entries of this placement that are part of the fleet's counts.
    pub(crate) counted: &'a Prior,
    pub(crate) in_decision: &'a Clusters,
    pub(crate) now: Timestamp,
}

/// Scores in the order of `Input::clusters`, and what else evaluation must know.
#[derive(Debug, Default)]
pub(crate) struct Scored {
    pub(crate) scores: Vec<i64>,
    /// Clusters without the data that the prioritizer scores by, where OCM gives no score at all instead of 0.
    pub(crate) missing: Clusters,
    /// No cluster at all has the data that the placement names. Only of data that a placement can misname.
    pub(crate) is_unpublished: bool,
    pub(crate) warning: Option<Status>,
    /// First moment at which a score that was used stops being valid.
    pub(crate) valid_until: Option<Timestamp>,
}

impl Prioritizer {
    /// The name shown in results: the built-in's own, or the path to the score.
    pub(crate) fn name(&self) -> String {
        match self {
            Prioritizer::Balance => "Balance".to_owned(),
            Prioritizer::Steady => "Steady".to_owned(),
            Prioritizer::ResourceAllocatableCPU => "ResourceAllocatableCPU".to_owned(),
            Prioritizer::ResourceAllocatableMemory => "ResourceAllocatableMemory".to_owned(),
            Prioritizer::AddOn { resource, score } => format!("AddOn/{resource}/{score}"),
            Prioritizer::Property { property } => format!("Property/{property}"),
        }
    }

    pub(crate) fn score(&self, input: &Input<'_>) -> Scored {
        match self {
            Prioritizer::Balance => balance::score(input),
            Prioritizer::Steady => steady::score(input),
            Prioritizer::ResourceAllocatableCPU => resource_allocatable::score(input, input.fleet.cpu()),
            Prioritizer::ResourceAllocatableMemory => {
                resource_allocatable::score(input, input.fleet.memory())
            }
            Prioritizer::AddOn { resource, score } => add_on::score(input, resource, score, &self.name()),
            Prioritizer::Property { property } => property::score(input, property),
        }
    }
}

/// Resolves a policy to the prioritizers that run, in the order Balance, Steady, then as configured.
pub(crate) fn resolve(policy: Option<&PrioritizerPolicy>) -> Result<Vec<Weighted>, Mistake> {
    let mode = policy
        .and_then(|policy| policy.mode.as_deref())
        .unwrap_or_default();
    let default = match mode {
        "" | "Additive" => 1,
        "Exact" => 0,
        other => return Err(mistakes::mode(other)),
    };
    let by_default = |prioritizer| Weighted {
        prioritizer,
        weight: default,
        configuration: None,
    };
    let mut weighted = vec![by_default(Prioritizer::Balance), by_default(Prioritizer::Steady)];
    for (index, (prioritizer, configuration)) in configured(policy)?
        .into_iter()
        .zip(configurations(policy))
        .enumerate()
    {
        let weight = i64::from(configuration.weight.unwrap_or(1));
        // OCM compares AddOn coordinates by address, so two equal ones both count; everything else is by value.
        let existing = match prioritizer {
            Prioritizer::AddOn { .. } => None,
            _ => weighted.iter_mut().find(|entry| entry.prioritizer == prioritizer),
        };
        match existing {
            Some(entry) => entry.weight = weight,
            None => weighted.push(Weighted {
                prioritizer,
                weight,
                configuration: Some(index),
            }),
        }
    }
    weighted.retain(|entry| entry.weight != 0);
    Ok(weighted)
}

fn configurations(policy: Option<&PrioritizerPolicy>) -> &[PrioritizerConfig] {
    policy
        .map(|policy| policy.configurations.as_slice())
        .unwrap_or_default()
}

/// What each configuration of a policy names.
pub(crate) fn configured(policy: Option<&PrioritizerPolicy>) -> Result<Vec<Prioritizer>, Mistake> {
    let configurations = configurations(policy).iter().enumerate();
    configurations
        .map(|(index, configuration)| match &configuration.score_coordinate {
            Some(coordinate) => parse_coordinate(coordinate, index),
            None => Err(mistakes::no_coordinate(index)),
        })
        .collect()
}

/// The configurations that name the prioritizer of an earlier one.
pub(crate) fn warnings(policy: Option<&PrioritizerPolicy>) -> Vec<Warning> {
    // What is misconfigured is refused before.
    let configured = configured(policy).unwrap_or_default();
    let is_repeated = |position: &usize| configured[..*position].contains(&configured[*position]);
    (0..configured.len())
        .filter(is_repeated)
        .map(|configuration| Warning::PrioritizerRepeated { configuration })
        .collect()
}

fn parse_coordinate(coordinate: &ScoreCoordinate, index: usize) -> Result<Prioritizer, Mistake> {
    match coordinate.r#type.as_deref() {
        None | Some("BuiltIn") => match coordinate.built_in.as_deref().unwrap_or_default() {
            "Balance" => Ok(Prioritizer::Balance),
            "Steady" => Ok(Prioritizer::Steady),
            "ResourceAllocatableCPU" => Ok(Prioritizer::ResourceAllocatableCPU),
            "ResourceAllocatableMemory" => Ok(Prioritizer::ResourceAllocatableMemory),
            other => Err(mistakes::built_in(index, other)),
        },
        Some("Property") => match coordinate.property.as_deref() {
            None | Some("") => Err(mistakes::no_property(index)),
            Some(property) => Ok(Prioritizer::Property {
                property: property.into(),
            }),
        },
        Some(_) => match &coordinate.add_on {
            None => Err(mistakes::no_add_on(index)),
            Some(add_on) => Ok(Prioritizer::AddOn {
                resource: add_on.resource_name.as_str().into(),
                score: add_on.score_name.as_str().into(),
            }),
        },
    }
}

#[cfg(test)]
mod tests {
    use portolan_api::cluster::AddOnScore;

    use super::*;

    fn built_in(name: &str, weight: Option<i32>) -> PrioritizerConfig {
        let coordinate = ScoreCoordinate {
            built_in: Some(name.into()),
            ..Default::default()
        };
        PrioritizerConfig {
            score_coordinate: Some(coordinate),
            weight,
        }
    }

    fn policy(mode: &str, configurations: Vec<PrioritizerConfig>) -> PrioritizerPolicy {
        PrioritizerPolicy {
            mode: Some(mode.into()),
            configurations,
        }
    }

    fn names(policy: &PrioritizerPolicy) -> Vec<(String, i64)> {
        resolve(Some(policy))
            .unwrap()
            .iter()
            .map(|w| (w.prioritizer.name(), w.weight))
            .collect()
    }

    #[test]
    fn additive_starts_from_balance_and_steady_and_exact_from_nothing() {
        let cpu = || vec![built_in("ResourceAllocatableCPU", Some(2))];
        assert_eq!(resolve(None).unwrap().len(), 2);
        assert_eq!(names(&policy("Additive", cpu())).len(), 3);
        assert_eq!(
            names(&policy("Exact", cpu())),
            [("ResourceAllocatableCPU".to_owned(), 2)]
        );
    }

    #[test]
    fn the_last_of_equal_built_ins_wins_and_weight_zero_switches_off() {
        let both = vec![
            built_in("Balance", Some(3)),
            built_in("Balance", Some(0)),
            built_in("Steady", None),
        ];
        assert_eq!(names(&policy("", both)), [("Steady".to_owned(), 1)]);
    }

    #[test]
    fn equal_add_on_entries_both_count() {
        let add_on = || PrioritizerConfig {
            score_coordinate: Some(ScoreCoordinate {
                r#type: Some("AddOn".into()),
                add_on: Some(AddOnScore {
                    resource_name: "r".into(),
                    score_name: "s".into(),
                }),
                ..Default::default()
            }),
            weight: Some(1),
        };
        assert_eq!(names(&policy("Exact", vec![add_on(), add_on()])).len(), 2);
    }

    #[test]
    fn mistakes_in_a_policy_name_the_field_and_end_with_ocms_words() {
        let bare = |r#type: &str| PrioritizerConfig {
            score_coordinate: Some(ScoreCoordinate {
                r#type: Some(r#type.into()),
                ..Default::default()
            }),
            weight: None,
        };
        for (policy, message) in [
            (
                policy("Magic", vec![]),
                "mode is \"Magic\"; use Additive or Exact (incorrect prioritizer policy mode: Magic)",
            ),
            (
                policy("", vec![built_in("Spread", None)]),
                "configurations[0].scoreCoordinate.builtIn is \"Spread\"; use Balance, Steady, ResourceAllocatableCPU or \
                 ResourceAllocatableMemory (incorrect builtin prioritizer: Spread)",
            ),
            (
                policy("", vec![PrioritizerConfig::default()]),
                "configurations[0].scoreCoordinate is missing; use a scoreCoordinate of type BuiltIn, AddOn or Property \
                 (scoreCoordinate field is required)",
            ),
            (
                policy("", vec![built_in("Steady", None), bare("AddOn")]),
                "configurations[1].scoreCoordinate.addOn is missing; use a resourceName and a scoreName (addOn should \
                 not be empty)",
            ),
            (
                policy("", vec![bare("Property")]),
                "configurations[0].scoreCoordinate.property is missing; use the name of a claim or property (property \
                 should not be empty)",
            ),
        ] {
            let mistake = resolve(Some(&policy)).unwrap_err();
            assert_eq!(
                mistake.status().message,
                format!("spec.prioritizerPolicy.{message}")
            );
        }
    }
}
