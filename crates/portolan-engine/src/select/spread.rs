//! Spread: `spreadPolicy` constraints limit how uneven the selection may be over the values of a label or claim.

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_api::cluster::{SpreadPolicy, TopologyKeyType, UnsatisfiableAction};

use super::{Ranked, Selection};
use crate::fleet::{ClusterId, Fleet};

/// One entry of `spec.spreadPolicy.spreadConstraints`.
#[derive(Clone, Debug)]
pub(crate) struct Constraint {
    pub(crate) key: Arc<str>,
    pub(crate) key_type: TopologyKeyType,
    pub(crate) max_skew: u32,
    /// `DoNotSchedule`; otherwise the constraint only orders the choice.
    pub(crate) required: bool,
}

/// A cluster that a required constraint kept out.
#[derive(Clone, Debug)]
pub(crate) struct Skipped {
    pub(crate) cluster: ClusterId,
    /// Position in `spreadConstraints`.
    pub(crate) constraint: usize,
    /// The cluster's domain; None when it does not carry the key at all.
    pub(crate) domain: Option<Arc<str>>,
    /// Selected clusters in its domain, and in the domain that has the fewest.
    pub(crate) in_domain: u32,
    pub(crate) fewest: u32,
}

impl Constraint {
    pub(crate) fn compile(policy: Option<&SpreadPolicy>) -> Vec<Constraint> {
        let constraints = policy
            .map(|policy| policy.spread_constraints.as_slice())
            .unwrap_or_default();
        constraints
            .iter()
            .map(|term| Constraint {
                key: term.topology_key.as_str().into(),
                key_type: term.topology_key_type,
                max_skew: term
                    .max_skew
                    .and_then(|skew| u32::try_from(skew).ok())
                    .unwrap_or(1)
                    .max(1),
                required: matches!(term.when_unsatisfiable, Some(UnsatisfiableAction::DoNotSchedule)),
            })
            .collect()
    }

    pub(crate) fn domain<'a>(&self, fleet: &'a Fleet, cluster: ClusterId) -> Option<&'a str> {
        let cluster = fleet.cluster(cluster)?;
        match self.key_type {
            TopologyKeyType::Label => cluster.label(&self.key),
            TopologyKeyType::Claim => cluster.claim(&self.key),
        }
    }
}

/// How many clusters are selected in each domain of one constraint.
struct Domains {
    names: Vec<Arc<str>>,
    selected: Vec<u32>,
}

impl Domains {
    fn fewest(&self) -> u32 {
        self.selected.iter().copied().min().unwrap_or(0)
    }
}

/// Takes clusters one by one: the first in rank order that breaks no required constraint and the fewest others.
/// Clusters of the same domains are interchangeable but for their rank, so each step looks at one of each kind.
pub(crate) fn select(
    fleet: &Fleet,
    ranked: &[Ranked],
    constraints: &[Constraint],
    wanted: usize,
) -> Selection {
    let mut order = ranked.to_vec();
    order.sort_unstable();
    let mut domains: Vec<Domains> = Vec::new();
    let mut places: Vec<Vec<Option<usize>>> = vec![Vec::with_capacity(constraints.len()); order.len()];
    for constraint in constraints {
        let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
        for (position, ranked) in order.iter().enumerate() {
            let next = ids.len();
            let place = constraint
                .domain(fleet, ranked.cluster)
                .map(|value| *ids.entry(value).or_insert(next));
            places[position].push(place);
        }
        let mut names: Vec<Arc<str>> = vec!["".into(); ids.len()];
        ids.iter().for_each(|(name, id)| names[*id] = (*name).into());
        domains.push(Domains {
            selected: vec![0; names.len()],
            names,
        });
    }
    let mut kinds: BTreeMap<&[Option<usize>], std::collections::VecDeque<usize>> = BTreeMap::new();
    for (position, place) in places.iter().enumerate() {
        kinds.entry(place).or_default().push_back(position);
    }
    let mut selection = Selection::default();
    let mut taken = 0;
    while taken < wanted {
        let best = kinds
            .iter()
            .filter_map(|(place, queue)| {
                let (required, preferred) = violations(constraints, &domains, place);
                required.is_none().then(|| (preferred, *queue.front()?).into())?
            })
            .min();
        let Some((_, position)) = best else { break };
        let place = places[position].as_slice();
        if let Some(queue) = kinds.get_mut(place) {
            queue.pop_front();
            if queue.is_empty() {
                kinds.remove(place);
            }
        }
        for (domains, place) in domains.iter_mut().zip(place) {
            if let Some(domain) = place {
                domains.selected[*domain] += 1;
            }
        }
        selection.selected.insert(order[position].cluster);
        taken += 1;
    }
    for (place, queue) in &kinds {
        let Some(constraint) = violations(constraints, &domains, place).0 else {
            continue;
        };
        let domain = place[constraint];
        for &position in queue {
            selection.skipped.push(Skipped {
                cluster: order[position].cluster,
                constraint,
                domain: domain.map(|domain| domains[constraint].names[domain].clone()),
                in_domain: domain.map_or(0, |domain| domains[constraint].selected[domain]),
                fewest: domains[constraint].fewest(),
            });
        }
    }
    selection
}

/// The first required constraint that taking one more cluster of this kind would break, and how many of the others.
fn violations(
    constraints: &[Constraint],
    domains: &[Domains],
    place: &[Option<usize>],
) -> (Option<usize>, usize) {
    let (mut required, mut preferred) = (None, 0);
    for (index, (constraint, domains)) in constraints.iter().zip(domains).enumerate() {
        let breaks = match place[index] {
            None => true,
            Some(domain) => {
                domains.selected[domain] + 1 - domains.fewest().min(domains.selected[domain] + 1)
                    > constraint.max_skew
            }
        };
        match (breaks, constraint.required) {
            (true, true) => required = required.or(Some(index)),
            (true, false) => preferred += 1,
            (false, _) => {}
        }
    }
    (required, preferred)
}
