//! Decision groups: the selected clusters cut into named and unnamed parts.

pub(crate) mod cluster_group;
mod sticky;

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use portolan_api::cluster::{DecisionGroup, GroupAssignment, PlacementSpec};

use crate::fleet::{ClusterId, Clusters, Fleet};
use crate::last_decision::LastDecision;
use crate::mistakes::{self, Collector, Mistake, Mistakes};
use crate::sabotage::{Rule, sabotaged};
use crate::selector::Selector;
use crate::warning::Warning;
pub use cluster_group::ClusterGroup;

/// `spec.decisionStrategy.groupStrategy`, checked.
#[derive(Debug, Default)]
pub(crate) struct Grouping {
    pub(crate) named: Vec<NamedGroup>,
    pub(crate) size: GroupSize,
    /// Clusters keep the group they are in. Never with a prioritizer policy: then groups are cut anew.
    pub(crate) sticky: bool,
}

#[derive(Debug)]
pub(crate) struct NamedGroup {
    pub(crate) name: Arc<str>,
    pub(crate) labels: Selector,
    pub(crate) claims: Selector,
}

/// How many clusters a group holds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub enum GroupSize {
    Clusters(i64),
    Percent(f64),
}

impl Grouping {
    pub(crate) fn compile(spec: &PlacementSpec) -> Result<Grouping, Mistakes> {
        const PATH: &str = "spec.decisionStrategy.groupStrategy";
        let strategy = spec
            .decision_strategy
            .as_ref()
            .and_then(|strategy| strategy.group_strategy.as_ref());
        let mut mistakes = Collector::default();
        let size = strategy.and_then(|strategy| strategy.clusters_per_decision_group.as_ref());
        let size = size.and_then(|size| mistakes.take(GroupSize::parse(size)));
        let groups = strategy.iter().flat_map(|strategy| &strategy.decision_groups);
        let named = groups.enumerate().filter_map(|(index, group)| {
            let path = format!("{PATH}.decisionGroups[{index}].groupClusterSelector");
            mistakes.take_all(NamedGroup::compile(group, &path))
        });
        let named = named.collect();
        let sticky = strategy.is_some_and(|strategy| strategy.assignment == Some(GroupAssignment::Sticky));
        mistakes.none_or(Grouping {
            named,
            size: size.unwrap_or_default(),
            sticky: sticky && spec.prioritizer_policy.is_none(),
        })
    }
}

impl NamedGroup {
    /// A group whose selector stands at `path`.
    fn compile(group: &DecisionGroup, path: &str) -> Result<NamedGroup, Mistakes> {
        let selector = &group.group_cluster_selector;
        let labels = format!("{path}.labelSelector");
        let (labels, of_labels) = Selector::check_labels(selector.label_selector.as_ref(), &labels);
        let claims = format!("{path}.claimSelector");
        let (claims, of_claims) = Selector::check_claims(selector.claim_selector.as_ref(), &claims);
        let mut collector = Collector::default();
        let errors = of_labels.into_iter().chain(of_claims);
        collector.add(errors.map(mistakes::group_selector));
        collector.none_or(NamedGroup {
            name: group.group_name.as_str().into(),
            labels,
            claims,
        })
    }
}

impl Grouping {
    /// What works and is hardly meant: the same name twice, and a size that is none.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut seen = hashbrown::HashSet::new();
        for (group, named) in self.named.iter().enumerate() {
            if !seen.insert(&*named.name) {
                warnings.push(Warning::GroupNameRepeated { group });
            }
        }
        if matches!(self.size, GroupSize::Clusters(size) if size < 1) {
            warnings.push(Warning::GroupSizeOutOfRange);
        }
        warnings
    }
}

/// All clusters in one group.
impl Default for GroupSize {
    fn default() -> GroupSize {
        GroupSize::Percent(100.0)
    }
}

impl GroupSize {
    /// A number, a quoted number, or a percentage.
    pub fn parse(size: &IntOrString) -> Result<GroupSize, Mistake> {
        let text = match size {
            IntOrString::Int(number) => return Ok(GroupSize::Clusters(i64::from(*number))),
            IntOrString::String(text) => text.as_str(),
        };
        // What the definition's pattern takes, and fractions of a percent, which OCM computes with.
        let digits = |text: &str| text.starts_with(|c: char| ('1'..='9').contains(&c));
        let plain = text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'%'));
        let parsed = match text.strip_suffix('%') {
            _ if !plain => None,
            Some(percent) => percent
                .parse()
                .ok()
                .filter(|percent: &f64| *percent > 0.0 && *percent <= 100.0)
                .map(GroupSize::Percent),
            None => text
                .parse()
                .ok()
                .filter(|_| digits(text))
                .map(GroupSize::Clusters),
        };
        match parsed {
            Some(size) => Ok(size),
            None if sabotaged(Rule::BadInputIsReported) => Ok(GroupSize::Percent(100.0)),
            None => Err(mistakes::group_size(text)),
        }
    }

    /// Clusters per group out of `total`. The percentage is of all selected clusters, and its ceiling is the one a
    /// 64-bit float gives in this order: 7 % of 100 is 8.
    pub fn of(self, total: usize) -> usize {
        let size = match self {
            GroupSize::Clusters(number) => number,
            GroupSize::Percent(percent) => (percent / 100.0 * total as f64).ceil() as i64,
        };
        match usize::try_from(size) {
            Ok(size) if (1..=total).contains(&size) => size,
            _ => total,
        }
    }
}

/// Cuts `selected` into groups. `position` gives the order inside a group.
pub(crate) fn divide(
    fleet: &Fleet,
    grouping: &Grouping,
    selected: &Clusters,
    prior: &LastDecision,
    sort: impl Fn(&Clusters) -> Vec<ClusterId>,
) -> Vec<ClusterGroup> {
    let size = grouping.size.of(selected.len());
    let mut rest = selected.clone();
    let mut parts: Vec<(Arc<str>, Clusters)> = Vec::new();
    for group in &grouping.named {
        let mut members = rest.clone();
        fleet.narrow_labels(&group.labels, &mut members);
        fleet.narrow_claims(&group.claims, &mut members);
        rest.subtract(&members);
        parts.push((group.name.clone(), members));
    }
    parts.push(("".into(), rest));
    let mut groups = Vec::new();
    if grouping.sticky {
        sticky::cut(fleet, &parts, size, prior, &mut groups);
        for group in &mut groups {
            group.clusters = sort(&group.clusters.iter().copied().collect());
        }
    } else {
        for (name, members) in parts.iter().filter(|(_, members)| !members.is_empty()) {
            for chunk in sort(members).chunks(size.max(1)) {
                groups.push(ClusterGroup {
                    name: name.clone(),
                    clusters: chunk.to_vec(),
                });
            }
        }
    }
    if groups.is_empty() {
        groups.push(ClusterGroup {
            name: "".into(),
            clusters: Vec::new(),
        });
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str, total: usize) -> usize {
        GroupSize::parse(&IntOrString::String(text.into()))
            .unwrap()
            .of(total)
    }

    #[test]
    fn percentages_have_ocms_ceilings() {
        for (percent, total, expected) in [
            ("7%", 100, 8),
            ("14%", 100, 15),
            ("28%", 100, 29),
            ("55%", 100, 56),
            ("56%", 100, 57),
            ("14%", 50, 8),
            ("33%", 10, 4),
            ("20%", 101, 21),
            ("25%", 3, 1),
            ("100%", 7, 7),
            ("33.3%", 10, 4),
        ] {
            assert_eq!(size(percent, total), expected, "{percent} of {total}");
        }
    }

    #[test]
    fn a_quoted_number_is_a_number() {
        assert_eq!(size("150", 320), 150);
        assert_eq!(size("400", 320), 320);
    }

    #[test]
    fn a_size_that_is_no_number_is_misconfigured_with_what_to_use() {
        for text in [
            "ten",
            "",
            "%",
            "10 percent",
            "inf%",
            "NaN%",
            "1e3",
            "0",
            "0%",
            "-5",
            "-5%",
            "101%",
            "+5",
            " 5",
            "007",
        ] {
            let mistake = GroupSize::parse(&IntOrString::String(text.into())).unwrap_err();
            let path = "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup";
            assert_eq!(
                mistake.status().message,
                format!("{path} is {text:?}; use a whole number from 1, or 1% to 100%")
            );
        }
    }
}
