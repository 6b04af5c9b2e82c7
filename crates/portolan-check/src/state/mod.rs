//! One state of the hub, and the checks that need nothing else.
//!
//! [`instant`] holds at every moment, in the middle of an update too. [`rest`] holds when nothing is under way and
//! contains the former.

mod inventory;
mod layout;
mod marks;
mod ocm;

use std::collections::BTreeMap;

use portolan_api::{cluster, multicluster};

pub use inventory::profiles_exist;
pub use layout::{deleted, order_reads_back, published};
pub use marks::first_revision;

use crate::{
    Decision, DecisionId, DecisionKind, Object, ObjectKey, ObjectKind, Report, Slice,
    decision::{Keys, ocm_id},
};

/// Longest label value.
const LONGEST_LABEL: usize = 63;

/// How much of a longer name is kept in a label.
const CUT: usize = 52;

/// Namespace and name.
pub type Name = (String, String);

/// The objects that checks look at, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// OCM decision objects.
    pub decisions: BTreeMap<Name, cluster::PlacementDecision>,
    /// KEP decision slices.
    pub slices: BTreeMap<Name, multicluster::PlacementDecision>,
    /// Placements.
    pub placements: BTreeMap<Name, cluster::Placement>,
    /// The inventory.
    pub profiles: BTreeMap<Name, multicluster::ClusterProfile>,
}

impl State {
    /// A state of these objects.
    pub fn of<O: Into<Object>>(objects: impl IntoIterator<Item = O>) -> Self {
        let mut state = Self::default();
        for object in objects {
            state.put(object);
        }
        state
    }

    /// Adds an object or replaces the one of its kind and name. Returns what was there.
    pub fn put(&mut self, object: impl Into<Object>) -> Option<Object> {
        let object = object.into();
        let ObjectKey { namespace, name, .. } = object.key();
        let place = (namespace, name);
        match object {
            Object::Slice(object) => self.slices.insert(place, object).map(Object::from),
            Object::Decision(object) => self.decisions.insert(place, object).map(Object::from),
            Object::Placement(object) => self.placements.insert(place, *object).map(Object::from),
            Object::Profile(object) => self.profiles.insert(place, *object).map(Object::from),
        }
    }

    /// Removes an object and returns it.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Object> {
        let place = (key.namespace.clone(), key.name.clone());
        match key.kind {
            ObjectKind::Slice => self.slices.remove(&place).map(Object::from),
            ObjectKind::Decision => self.decisions.remove(&place).map(Object::from),
            ObjectKind::Placement => self.placements.remove(&place).map(Object::from),
            ObjectKind::Profile => self.profiles.remove(&place).map(Object::from),
        }
    }

    /// Every object, by kind and name.
    pub fn objects(&self) -> impl Iterator<Item = Object> + '_ {
        let slices = self.slices.values().cloned().map(Object::from);
        let decisions = self.decisions.values().cloned().map(Object::from);
        let placements = self.placements.values().cloned().map(Object::from);
        let profiles = self.profiles.values().cloned().map(Object::from);
        slices.chain(decisions).chain(placements).chain(profiles)
    }

    /// Every logical decision of the KEP kind.
    pub fn kep(&self) -> Vec<Decision<'_>> {
        let keys = Keys::of(self.slices.values().map(|slice| &slice.metadata));
        let pairs = self
            .slices
            .values()
            .map(|slice| (keys.kep(&slice.metadata), Slice::of_kep(slice)));
        gathered(pairs)
    }

    /// Every logical decision of the OCM kind. Objects without a placement label belong to none.
    pub fn ocm(&self) -> Vec<Decision<'_>> {
        let pairs = self.decisions.values();
        gathered(pairs.filter_map(|object| Some((ocm_id(&object.metadata)?, Slice::of_ocm(object)))))
    }

    /// One logical decision, if any of its objects exists.
    pub fn decision(&self, id: &DecisionId) -> Option<Decision<'_>> {
        let slices: Vec<Slice<'_>> = match id.kind {
            DecisionKind::Kep => {
                let keys = Keys::of(self.slices.values().map(|slice| &slice.metadata));
                let ours = self
                    .slices
                    .values()
                    .filter(|slice| keys.kep(&slice.metadata) == *id);
                ours.map(Slice::of_kep).collect()
            }
            DecisionKind::Ocm => {
                let ours = self
                    .decisions
                    .values()
                    .filter(|object| ocm_id(&object.metadata).as_ref() == Some(id));
                ours.map(Slice::of_ocm).collect()
            }
        };
        (!slices.is_empty()).then(|| Decision::new(id.clone(), slices))
    }

    /// The Placement behind a decision, if it is known.
    pub fn placement_of(&self, id: &DecisionId) -> Option<&cluster::Placement> {
        if let Some(placement) = self.placements.get(&(id.namespace.clone(), id.key.clone())) {
            return Some(placement);
        }
        // A name that does not fit a label is cut to its first 52 characters and a hash.
        let start = id.key.get(..CUT).filter(|_| id.key.len() == LONGEST_LABEL)?;
        let long = |(namespace, name): &Name| {
            *namespace == id.namespace && name.len() > LONGEST_LABEL && name.starts_with(start)
        };
        let mut found = self
            .placements
            .iter()
            .filter(|(place, _)| long(place))
            .map(|(_, placement)| placement);
        found.next().filter(|_| found.next().is_none())
    }
}

/// The checks that hold at every moment.
pub fn instant(state: &State) -> Report {
    let mut report = Report::new();
    for decision in state.kep() {
        instant_kep(state, &decision, &mut report);
    }
    report
}

/// The checks that hold when nothing is under way, and those that always hold.
pub fn rest(state: &State) -> Report {
    let mut report = Report::new();
    for decision in state.kep() {
        rest_kep(state, &decision, &mut report);
    }
    for decision in state.ocm() {
        ocm::at_rest(state, &decision, &mut report);
    }
    report
}

/// [`instant`] for one decision.
pub(crate) fn instant_kep(state: &State, decision: &Decision<'_>, report: &mut Report) {
    layout::at_most_100(decision, report);
    for slice in &decision.slices {
        if let Some(object) = state
            .slices
            .get(&(slice.key.namespace.clone(), slice.key.name.clone()))
        {
            layout::entries_name_one_cluster(slice, object, report);
        }
    }
    marks::at_any_moment(decision, report);
}

/// [`rest`] for one decision of the KEP kind.
pub(crate) fn rest_kep(state: &State, decision: &Decision<'_>, report: &mut Report) {
    instant_kep(state, decision, report);
    layout::at_rest(decision, report);
    marks::indexes(decision, marks::order_of(state, decision), report);
    marks::at_rest(decision, report);
    inventory::members_once(state, decision, report);
    if !state.profiles.is_empty() {
        inventory::references_resolve(state, decision, report);
    }
}

/// [`rest`] for one decision of the OCM kind.
pub(crate) fn rest_ocm(state: &State, decision: &Decision<'_>, report: &mut Report) {
    ocm::at_rest(state, decision, report);
}

/// Whether the status of a placement tells what its objects say.
pub(crate) fn status_tells(state: &State, decision: &Decision<'_>, report: &mut Report) {
    ocm::status_groups(state, decision, report);
}

fn gathered<'a>(pairs: impl Iterator<Item = (DecisionId, Slice<'a>)>) -> Vec<Decision<'a>> {
    let mut groups: BTreeMap<DecisionId, Vec<Slice<'a>>> = BTreeMap::new();
    for (id, slice) in pairs {
        groups.entry(id).or_default().push(slice);
    }
    groups
        .into_iter()
        .map(|(id, slices)| Decision::new(id, slices))
        .collect()
}
