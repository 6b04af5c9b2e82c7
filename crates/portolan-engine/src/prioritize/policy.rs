//! Which prioritizers a placement runs, with which weights.

use std::collections::HashSet;
use std::sync::Arc;

use portolan_api::cluster::{PrioritizerConfig, PrioritizerPolicy, ScoreCoordinate};

use super::add_on::AddOn;
use super::property::Property;
use super::{BUILT_INS, Prioritizer, built_in_names};
use crate::mistakes::{self, Collector, Mistake, Mistakes};
use crate::warning::Warning;

/// A prioritizer with its weight, never 0.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    pub(crate) prioritizer: Arc<dyn Prioritizer>,
    pub(crate) weight: i64,
    /// Position of the configuration that asks for it; none for a default.
    pub(crate) configuration: Option<usize>,
}

/// Resolves a policy to the prioritizers that run: those of the defaults, then as configured.
pub(crate) fn resolve(policy: Option<&PrioritizerPolicy>) -> Result<Vec<Weighted>, Mistakes> {
    let mut mistakes = Collector::default();
    let is_additive = mistakes.take(is_additive(policy)).unwrap_or_default();
    let configured = mistakes.take_all(configured(policy)).unwrap_or_default();
    let defaults = BUILT_INS.iter().filter(|built_in| built_in.default_weight != 0);
    let by_default = defaults.map(|built_in| Weighted {
        prioritizer: (built_in.make)(),
        weight: if is_additive { built_in.default_weight } else { 0 },
        configuration: None,
    });
    let mut weighted: Vec<Weighted> = by_default.collect();
    for (index, (prioritizer, configuration)) in
        configured.into_iter().zip(configurations(policy)).enumerate()
    {
        let weight = i64::from(configuration.weight.unwrap_or(1));
        let existing = match prioritizer.adds_up() {
            true => None,
            false => weighted
                .iter_mut()
                .find(|entry| is_same(&*entry.prioritizer, &*prioritizer)),
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
    mistakes.none_or(weighted)
}

fn is_additive(policy: Option<&PrioritizerPolicy>) -> Result<bool, Mistake> {
    let mode = policy.and_then(|policy| policy.mode.as_deref());
    match mode.unwrap_or_default() {
        "" | "Additive" => Ok(true),
        "Exact" => Ok(false),
        other => Err(mistakes::mode(other)),
    }
}

fn configurations(policy: Option<&PrioritizerPolicy>) -> &[PrioritizerConfig] {
    policy
        .map(|policy| policy.configurations.as_slice())
        .unwrap_or_default()
}

/// What each configuration of a policy names.
pub(crate) fn configured(policy: Option<&PrioritizerPolicy>) -> Result<Vec<Arc<dyn Prioritizer>>, Mistakes> {
    let mut mistakes = Collector::default();
    let configurations = configurations(policy).iter().enumerate();
    let parsed = configurations.map(|(index, configuration)| match &configuration.score_coordinate {
        Some(coordinate) => parse_coordinate(coordinate, index),
        None => Err(mistakes::no_coordinate(index)),
    });
    let configured = parsed.filter_map(|parsed| mistakes.take(parsed)).collect();
    mistakes.none_or(configured)
}

/// The configurations that name the prioritizer of an earlier one.
pub(crate) fn warnings(policy: Option<&PrioritizerPolicy>) -> Vec<Warning> {
    // What is misconfigured is refused before.
    let configured = configured(policy).unwrap_or_default();
    let mut names = HashSet::new();
    let repeated = configured
        .iter()
        .enumerate()
        .filter(|(_, prioritizer)| !names.insert(prioritizer.name()));
    repeated
        .map(|(configuration, _)| Warning::PrioritizerRepeated { configuration })
        .collect()
}

/// Whether both are the same prioritizer: a name is that of one.
pub(crate) fn is_same(one: &dyn Prioritizer, other: &dyn Prioritizer) -> bool {
    one.name() == other.name()
}

fn parse_coordinate(coordinate: &ScoreCoordinate, index: usize) -> Result<Arc<dyn Prioritizer>, Mistake> {
    match coordinate.r#type.as_deref() {
        None | Some("BuiltIn") => {
            let name = coordinate.built_in.as_deref().unwrap_or_default();
            let built_in = BUILT_INS.iter().find(|built_in| built_in.name == name);
            match built_in {
                Some(built_in) => Ok((built_in.make)()),
                None => Err(mistakes::built_in(index, name, &in_words(built_in_names()))),
            }
        }
        Some("Property") => match coordinate.property.as_deref() {
            None | Some("") => Err(mistakes::no_property(index)),
            Some(property) => Ok(Arc::new(Property::of(property))),
        },
        Some(_) => match &coordinate.add_on {
            None => Err(mistakes::no_add_on(index)),
            Some(add_on) => Ok(Arc::new(AddOn::of(&add_on.resource_name, &add_on.score_name))),
        },
    }
}

/// `a, b or c`.
fn in_words(names: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        names => names.concat(),
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
            .map(|w| (w.prioritizer.name().into_owned(), w.weight))
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
    fn mistakes_in_a_policy_name_the_field_and_what_to_use() {
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
                "mode is \"Magic\"; use Additive or Exact",
            ),
            (
                policy("", vec![built_in("Spread", None)]),
                "configurations[0].scoreCoordinate.builtIn is \"Spread\"; use Balance, Steady, ResourceAllocatableCPU or \
                 ResourceAllocatableMemory",
            ),
            (
                policy("", vec![built_in("Steadyy", None)]),
                "configurations[0].scoreCoordinate.builtIn is \"Steadyy\"; use Balance, Steady, ResourceAllocatableCPU or \
                 ResourceAllocatableMemory; did you mean Steady?",
            ),
            (
                policy("", vec![PrioritizerConfig::default()]),
                "configurations[0].scoreCoordinate is missing; use a scoreCoordinate of type BuiltIn, AddOn or Property",
            ),
            (
                policy("", vec![built_in("Steady", None), bare("AddOn")]),
                "configurations[1].scoreCoordinate.addOn is missing; use a resourceName and a scoreName",
            ),
            (
                policy("", vec![bare("Property")]),
                "configurations[0].scoreCoordinate.property is missing; use the name of a claim or property",
            ),
        ] {
            let mistakes = resolve(Some(&policy)).unwrap_err();
            let messages: Vec<String> = mistakes.iter().map(|mistake| mistake.status().message).collect();
            assert_eq!(messages, [format!("spec.prioritizerPolicy.{message}")]);
        }
    }
}
