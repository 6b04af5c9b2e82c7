//! A server in memory: it does what a job says, records what a reader sees, and tells the scheduler.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use portolan_api::cluster::{self, Placement};
use portolan_api::multicluster;
use portolan_check::stream::{Event, Recording};
use portolan_check::{Object, State};
use portolan_engine::placement::PlacementKey;
use portolan_engine::plan::{Observed, Plan, Write};
use portolan_runtime::Clock;
use portolan_runtime::watch::{Delta, Key};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::fields::MissingFields;
use crate::moment::tests::instant;
use crate::placements::input::Input;
use crate::placements::job::{Acknowledged, Job, Report, Step, Teardown, phases};
use crate::placements::scheduler::Scheduler;
use crate::settings::Settings;

pub(super) const NAMESPACE: &str = "team";

pub(super) fn object<K: DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

pub(super) fn now() -> Timestamp {
    Timestamp::from_second(1_000_000).unwrap()
}

/// `all` is bound to the namespace.
pub(super) fn binding() -> Input {
    let binding = object(json!({
        "metadata": {"name": "all", "namespace": NAMESPACE}, "spec": {"clusterSet": "all"},
    }));
    Input::Binding(Delta::Applied(Arc::new(binding)))
}

/// A scheduler that has seen nothing yet.
pub(super) fn scheduler() -> Scheduler {
    Scheduler::new(Settings::new(Clock::new(now)), instant(now()))
}

#[derive(Clone, Default)]
pub(super) struct Server {
    observed: Observed,
    placement: Option<Placement>,
    pub(super) recording: Recording,
    version: u64,
}

impl Server {
    /// With one placement, `p`.
    pub(super) fn with(spec: Value) -> Server {
        let placement: Placement = object(json!({
            "metadata": {
                "name": "p", "namespace": NAMESPACE, "uid": "uid-p", "resourceVersion": "1", "generation": 1,
            },
            "spec": spec,
        }));
        Server {
            recording: Recording::starting_at(State::of([placement.clone()])),
            placement: Some(placement),
            version: 1,
            ..Server::default()
        }
    }

    /// Everything but clusters, which are the test's: `all` is bound and every kind that is not a cluster is complete.
    pub(super) fn introduce(&self, scheduler: &mut Scheduler) {
        scheduler.handle(binding());
        scheduler.handle(Input::Binding(Delta::Synced));
        scheduler.handle(Input::Score(Delta::Synced));
        self.introduce_some(scheduler);
    }

    /// The same, but that nothing is said about bindings and scores.
    pub(super) fn introduce_some(&self, scheduler: &mut Scheduler) {
        let set = object(json!({
            "metadata": {"name": "all"},
            "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
        }));
        scheduler.handle(Input::Set(Delta::Applied(Arc::new(set))));
        for placement in self.placement.iter().cloned() {
            scheduler.handle(Input::Placement(Delta::Applied(Arc::new(placement))));
        }
        for decision in self.observed.decisions.iter().cloned() {
            scheduler.handle(Input::Decision(Delta::Applied(Arc::new(decision))));
        }
        for slice in self.observed.slices.iter().cloned() {
            scheduler.handle(Input::Slice(Delta::Applied(Arc::new(slice))));
        }
        scheduler.handle(Input::MissingFields(MissingFields::default()));
        scheduler.handle(Input::Set(Delta::Synced));
        scheduler.handle(Input::Placement(Delta::Synced));
        scheduler.handle(Input::Decision(Delta::Synced));
        scheduler.handle(Input::Slice(Delta::Synced));
    }

    /// When the decision objects were created.
    pub(super) fn created_at(&mut self, at: Timestamp) {
        let Observed {
            decisions, slices, ..
        } = &mut self.observed;
        let decisions = decisions.iter_mut().map(|object| &mut object.metadata);
        let slices = slices.iter_mut().map(|slice| &mut slice.metadata);
        decisions
            .chain(slices)
            .for_each(|metadata| metadata.creation_timestamp = Some(Time(at)));
    }

    pub(super) fn restore_placement(&mut self, placement: Placement) {
        self.placement = Some(placement);
    }

    /// Lets the scheduler do all that it wants to do, and marks the end.
    pub(super) fn run(&mut self, scheduler: &mut Scheduler) {
        self.run_at(scheduler, now());
    }

    /// The same at another time.
    pub(super) fn run_at(&mut self, scheduler: &mut Scheduler, now: Timestamp) {
        for _ in 0..20 {
            let Some(step) = scheduler.next(now.into()) else {
                break;
            };
            let report = match step {
                Step::Publish(job) => self.publish(*job),
                Step::Teardown(teardown) => self.tear_down(*teardown),
                Step::Settled(_) | Step::Reading => continue,
            };
            scheduler.done(report, instant(now));
        }
        self.recording.events.push(Event::Settled);
    }

    /// Carries out what the scheduler wants to write, but for the status of the placement: the process dies before that.
    pub(super) fn run_until_status(&mut self, scheduler: &mut Scheduler) {
        while let Some(step) = scheduler.next(now().into()) {
            if let Step::Publish(job) = step {
                let status = None;
                self.publish(Job { status, ..*job });
                return;
            }
        }
    }

    /// How many clusters the status of the placement tells of.
    pub(super) fn told(&self) -> Option<i32> {
        let status = self.placement.as_ref()?.status.as_ref()?;
        Some(status.number_of_selected_clusters)
    }

    /// The clusters in the OCM decisions.
    pub(super) fn decided(&self) -> Vec<String> {
        let status = self.observed.decisions.iter().flat_map(|object| &object.status);
        let entries = status.flat_map(|status| &status.decisions);
        entries.map(|entry| entry.cluster_name.clone()).collect()
    }

    /// The reason of a condition of the placement that is true.
    pub(super) fn reason(&self, type_: &str) -> Option<String> {
        let status = self.placement.as_ref()?.status.as_ref()?;
        let mut conditions = status.conditions.iter();
        let condition = conditions.find(|condition| condition.type_ == type_)?;
        (condition.status == "True").then(|| condition.reason.clone())
    }

    /// Loses the placement, as a server does that is restored without it.
    pub(super) fn lose_placement(&mut self) -> Option<Placement> {
        self.placement.take()
    }

    fn tear_down(&mut self, teardown: Teardown) -> Report {
        let mut acknowledged = Vec::new();
        match &self.placement {
            Some(_) => acknowledged.push(Acknowledged::PlacementExists),
            None => self.carry_out(&teardown.plan, &mut acknowledged),
        }
        Report {
            key: teardown.key,
            acknowledged,
            result: Ok(()),
        }
    }

    fn publish(&mut self, job: Job) -> Report {
        let mut acknowledged = Vec::new();
        self.carry_out(&job.decisions, &mut acknowledged);
        self.carry_out(&job.slices, &mut acknowledged);
        if let (Some(status), Some(placement)) = (job.status, &mut self.placement) {
            self.version += 1;
            placement.status = Some(status.clone());
            placement.metadata.resource_version = Some(self.version.to_string());
            let event = Event::Modified(Object::from(placement.clone()));
            self.recording.events.push(event);
            acknowledged.push(Acknowledged::PlacementStatus {
                metadata: Box::new(placement.metadata.clone()),
                status: Box::new(status),
            });
        }
        Report {
            key: PlacementKey::new(NAMESPACE, "p"),
            acknowledged,
            result: Ok(()),
        }
    }

    fn carry_out(&mut self, plan: &Plan, acknowledged: &mut Vec<Acknowledged>) {
        for write in phases(plan.clone()).iter().flat_map(|phase| &phase.writes) {
            self.write(write, acknowledged);
        }
    }

    fn write(&mut self, write: &Write, acknowledged: &mut Vec<Acknowledged>) {
        self.version += 1;
        let version = self.version.to_string();
        let before = self.observed.clone();
        write.apply(&mut self.observed);
        let stamp = |metadata: &mut ObjectMeta| {
            metadata.resource_version = Some(version.clone());
            metadata.uid.get_or_insert_with(|| format!("uid-{version}"));
        };
        let (name, is_slice) = match write {
            Write::CreateDecision(object) => (object.metadata.name.clone().unwrap(), false),
            Write::DecisionMetadata(metadata) => (metadata.name.clone().unwrap(), false),
            Write::DecisionStatus { object, .. } | Write::DeleteDecision(object) => {
                (object.name.clone(), false)
            }
            Write::CreateSlice(slice) | Write::ReplaceSlice(slice) => {
                (slice.metadata.name.clone().unwrap(), true)
            }
            Write::DeleteSlice(object) => (object.name.clone(), true),
            Write::PlacementStatus(_) => return,
        };
        let is = |metadata: &ObjectMeta| metadata.name.as_deref() == Some(&*name);
        if is_slice {
            let old = before.slices.into_iter().find(|slice| is(&slice.metadata));
            let new = self.observed.slices.iter_mut().find(|slice| is(&slice.metadata));
            let new = new.map(|slice| {
                stamp(&mut slice.metadata);
                slice.clone()
            });
            acknowledged.extend(new.clone().map(|slice| Acknowledged::Slice(Box::new(slice))));
            let gone =
                |old: &multicluster::PlacementDecision| Acknowledged::SliceDeleted(Key::of(&old.metadata));
            acknowledged.extend(old.iter().filter(|_| new.is_none()).map(gone));
            self.record(old, new);
        } else {
            let old = before.decisions.into_iter().find(|object| is(&object.metadata));
            let new = self
                .observed
                .decisions
                .iter_mut()
                .find(|object| is(&object.metadata));
            let new = new.map(|object| {
                stamp(&mut object.metadata);
                object.clone()
            });
            acknowledged.extend(new.clone().map(|object| Acknowledged::Decision(Box::new(object))));
            let gone =
                |old: &cluster::PlacementDecision| Acknowledged::DecisionDeleted(Key::of(&old.metadata));
            acknowledged.extend(old.iter().filter(|_| new.is_none()).map(gone));
            self.record(old, new);
        }
    }

    fn record<K: Into<Object>>(&mut self, old: Option<K>, new: Option<K>) {
        let event = match (old, new) {
            (None, Some(new)) => Event::Added(new.into()),
            (Some(_), Some(new)) => Event::Modified(new.into()),
            (Some(old), None) => Event::Deleted(old.into()),
            (None, None) => return,
        };
        self.recording.events.push(event);
    }
}
