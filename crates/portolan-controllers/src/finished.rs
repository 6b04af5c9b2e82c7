//! Deletes ManifestWorks that are complete, `deleteOption.ttlSecondsAfterFinished` after they were. An agent may not.
//!
//! Works of replica sets are left alone: their owner would make them anew, and what was to run once would run for ever.
//! The time counts from when a controller saw that the work was complete, or from when the hub wrote that down, not from
//! the member's clock. A work is deleted as it was seen and not otherwise, so that one that was edited meanwhile is looked at again.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Api, DeleteParams, Preconditions};
use kube::{Client, Resource as _};
use portolan_api::labels::{conditions, ocm};
use portolan_api::semantic::is_complete;
use portolan_api::work::ManifestWork;
use portolan_runtime::watch::{Delta, Key, Subscriber, SyncState, Watch};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::moment::{Moment, Since, status_written};
use crate::reconcile::{self, Action, Failure, Queue, Reconciler, RequestContext, Version};
use crate::sabotage::{Rule, sabotaged};
use crate::settings::Settings;

/// Messages between the watch and the state. Small, because a message may hold a whole object.
const CHANNEL: usize = 256;

/// Starts the watch and what deletes. It ends with the watch.
pub(crate) fn start(
    client: &Client,
    settings: &Settings,
    context: RequestContext,
) -> (Watch<ManifestWork>, impl Future<Output = ()> + use<>) {
    let (sender, inputs) = mpsc::channel(CHANNEL);
    let works = Watch::new(client.clone(), vec![Subscriber::new(sender, Input::Work)]);
    let works = works
        .labelled(&format!("!{}", ocm::REPLICA_SET))
        .logging(&context.log);
    let state = State {
        known: SyncState::default(),
        works: BTreeMap::new(),
        queue: Queue::new(settings.longest_backoff),
    };
    let (client, requests) = (client.clone(), context.clone());
    let kept = reconcile::run(state, inputs, context, move |work| {
        delete(client.clone(), requests.clone(), work)
    });
    (works, kept)
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WorkKey {
    namespace: String,
    name: String,
}

impl fmt::Display for WorkKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// A work that is complete and is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finished {
    uid: String,
    version: Version,
    /// How long it stays after it was complete.
    stays: Duration,
    /// When it was complete, by the member's clock. Only compared with itself: nothing is counted from it.
    changed: Timestamp,
    /// When its status was last written, by the hub's clock, where it may have been complete before this process listened.
    recorded: Option<Timestamp>,
    /// Since when it is complete. Nothing before somebody looked.
    since: Option<Since>,
}

impl Finished {
    /// `None` for a work that stays.
    fn of(work: &ManifestWork, is_found: bool) -> Option<Finished> {
        let seconds = work.spec.delete_option.as_ref()?.ttl_seconds_after_finished?;
        let mut said = work.status.iter().flat_map(|status| &status.conditions);
        let complete =
            said.find(|condition| condition.type_ == conditions::COMPLETE && condition.status == "True")?;
        // A hub with OCM's definition takes any number. What is negative says nothing that could be meant. The condition is
        // of the work as it was when the agent looked; a rule or a Job of it may be another one since.
        if work.metadata.deletion_timestamp.is_some() || seconds < 0 || !is_complete(work) {
            return None;
        }
        Some(Finished {
            uid: work.metadata.uid.clone().unwrap_or_default(),
            version: Version::of(&work.metadata),
            stays: Duration::from_secs(seconds.unsigned_abs()),
            changed: complete.last_transition_time.0,
            recorded: status_written(&work.metadata).filter(|_| is_found),
            since: None,
        })
    }

    /// Goes on with what was known of the work, unless it was complete anew.
    fn follow(&mut self, before: &Finished) {
        if (&self.uid, self.changed) == (&before.uid, before.changed) {
            self.since = before.since;
            self.recorded = before.recorded;
        }
    }

    /// When it is to go, counted from when a controller saw or the hub wrote down that it was complete. What lies beyond
    /// the end of time never comes.
    fn until(&mut self, now: Moment) -> Option<Instant> {
        let by_member = sabotaged(Rule::CountFromWhatTheHubSaw).then_some(self.changed);
        let since = *self
            .since
            .get_or_insert_with(|| match by_member.or(self.recorded) {
                Some(at) => Since::recorded(at, now),
                None => Since::now(now),
            });
        since.after(self.stays)
    }
}

#[derive(Debug)]
enum Input {
    Work(Delta<ManifestWork>),
    Ended {
        key: WorkKey,
        at: Instant,
        result: Result<(), Failure>,
    },
}

#[derive(Debug)]
struct State {
    known: SyncState,
    works: BTreeMap<WorkKey, Finished>,
    queue: Queue<WorkKey>,
}

impl Reconciler for State {
    const NAME: &'static str = "finished works";
    type Input = Input;
    type Write = (WorkKey, Finished);

    fn handle(&mut self, input: Input) {
        let is_found = !self.known.is_synced();
        if let Input::Work(delta) = &input {
            self.known.after(delta);
        }
        match input {
            Input::Work(Delta::Applied(work)) => {
                let metadata = work.meta();
                let key = WorkKey {
                    namespace: metadata.namespace.clone().unwrap_or_default(),
                    name: metadata.name.clone().unwrap_or_default(),
                };
                match Finished::of(&work, is_found) {
                    Some(mut finished) => {
                        if let Some(before) = self.works.get(&key) {
                            finished.follow(before);
                        }
                        self.works.insert(key.clone(), finished);
                        self.queue.enqueue(key);
                    }
                    None => drop(self.works.remove(&key)),
                }
            }
            Input::Work(Delta::Deleted(key) | Delta::DeletionHeld(key)) => {
                let (namespace, name) = (key.namespace, key.name);
                self.works.remove(&WorkKey { namespace, name });
            }
            // Whether it is still finished is not known.
            Input::Work(Delta::Unreadable(object)) => {
                let Key { namespace, name, .. } = Key::of(&object.metadata);
                self.works.remove(&WorkKey { namespace, name });
            }
            // Nothing follows from what is not there.
            Input::Work(_) => {}
            Input::Ended { key, at, result } => {
                match result {
                    Ok(()) => {
                        self.works.remove(&key);
                        self.queue.succeeded(&key);
                    }
                    Err(_) => drop(self.queue.failed(&key, at)),
                };
            }
        }
    }

    fn due(&mut self, now: Moment, room: usize) -> Vec<Self::Write> {
        let works = &mut self.works;
        self.queue.poll(now.instant, room, |key| {
            let Some(work) = works.get_mut(key) else {
                return Action::AwaitChange;
            };
            match work.until(now) {
                None => Action::AwaitChange,
                Some(until) if now.instant < until => Action::RequeueAt(until),
                Some(_) => Action::Write((key.clone(), work.clone())),
            }
        })
    }

    fn next_due(&self) -> Option<Instant> {
        self.queue.next()
    }
}

async fn delete(client: Client, context: RequestContext, (key, work): (WorkKey, Finished)) -> Input {
    let api: Api<ManifestWork> = Api::namespaced(client, &key.namespace);
    let as_seen = DeleteParams::default().preconditions(Preconditions {
        uid: Some(work.uid),
        resource_version: Some(work.version.as_str().to_owned()),
    });
    let sent = async {
        match api.delete(&key.name, &as_seen).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            answer => answer.map(drop),
        }
    };
    let result = context.request("delete", "manifestworks", &key, sent).await;
    if result.is_ok() {
        tracing::info!("deleted manifestworks {key}: complete for longer than ttlSecondsAfterFinished");
    }
    Input::Ended {
        key,
        at: Instant::now(),
        result,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::moment::tests::{instant, shifted};
    use crate::sabotage::with_sabotaged;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// A work that was complete, or not, since second 100.
    fn work(version: u32, ttl: Option<i64>, complete: &str) -> ManifestWork {
        let time = at(100).to_string();
        let condition = json!({
            "type": "Complete", "status": complete, "reason": "r", "message": "", "lastTransitionTime": time,
        });
        serde_json::from_value(json!({
            "metadata": { "namespace": "east", "name": "job", "uid": "u", "resourceVersion": version.to_string() },
            "spec": {
                "deleteOption": { "ttlSecondsAfterFinished": ttl },
                "workload": { "manifests": [job("job")] },
                "manifestConfigs": [{
                    "resourceIdentifier": { "group": "batch", "resource": "jobs", "namespace": "east", "name": "*" },
                    "conditionRules": [{ "type": "WellKnownConditions" }],
                }],
            },
            "status": {
                "conditions": [condition],
                "resourceStatus": { "manifests": [{
                    "resourceMeta": {
                        "group": "batch", "kind": "Job", "resource": "jobs", "namespace": "east", "name": "job",
                    },
                    "conditions": [condition],
                }] },
            },
        }))
        .unwrap()
    }

    fn job(name: &str) -> serde_json::Value {
        json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name, "namespace": "east" } })
    }

    /// State that has heard of all works that there are.
    fn state() -> State {
        let mut state = unlisted();
        state.handle(Input::Work(Delta::Synced));
        state
    }

    fn unlisted() -> State {
        State {
            known: SyncState::default(),
            works: BTreeMap::new(),
            queue: Queue::new(Duration::from_secs(1)),
        }
    }

    fn due_at(state: &mut State, second: i64) -> usize {
        state.due(at(second).into(), 10).len()
    }

    /// A work that is complete, by a member's clock that is off by `skew`, and that the hub has known of since `written`.
    fn complete(skew: i64, written: i64) -> Input {
        let mut work = work(1, Some(30), "True");
        let condition = work.status.as_mut().unwrap().conditions.first_mut().unwrap();
        condition.last_transition_time.0 = at(100_000 + skew);
        let entry = json!([{ "subresource": "status", "time": at(written).to_string() }]);
        work.metadata.managed_fields = serde_json::from_value(entry).unwrap();
        Input::Work(Delta::Applied(Arc::new(work)))
    }

    /// When a work goes that was complete at second 100,000 and is heard of then.
    fn goes_at(skew: i64) -> i64 {
        let mut state = state();
        state.handle(complete(skew, 100_000));
        let seconds = 100_000..300_000;
        seconds
            .into_iter()
            .find(|second| due_at(&mut state, *second) == 1)
            .unwrap()
    }

    #[test]
    fn the_time_to_live_counts_from_what_the_hub_saw_whatever_the_members_clock_shows() {
        let times = || [0, -3600, 86_400].map(goes_at);
        assert_eq!(times(), [100_030; 3]);
        let by_member = with_sabotaged(Rule::CountFromWhatTheHubSaw, times);
        assert_eq!(by_member, [100_030, 100_000, 100_030]);
    }

    #[test]
    fn a_controller_that_starts_goes_on_with_the_time_that_the_hub_wrote_down() {
        let mut state = unlisted();
        state.handle(complete(-3600, 100_000));
        state.handle(Input::Work(Delta::Synced));
        assert_eq!(due_at(&mut state, 100_020), 0);
        assert_eq!(state.next_due(), Some(instant(at(100_030))));
        // The wall clock is set back by an hour in the middle of the wait.
        assert_eq!(state.due(shifted(at(100_031), -3600), 10).len(), 1);
    }

    #[test]
    fn a_work_goes_when_it_was_complete_for_as_long_as_it_says_and_no_sooner() {
        let mut state = state();
        state.handle(Input::Work(Delta::Applied(Arc::new(work(1, Some(30), "True")))));
        assert_eq!(due_at(&mut state, 100), 0);
        assert_eq!(due_at(&mut state, 129), 0);
        assert_eq!(state.next_due(), Some(instant(at(130))));
        assert_eq!(due_at(&mut state, 130), 1);
        assert_eq!(due_at(&mut state, 131), 0, "it is under way");
    }

    #[test]
    fn a_work_without_the_time_or_not_complete_any_more_stays() {
        for work in [
            work(1, None, "True"),
            work(1, Some(0), "False"),
            work(1, Some(i64::MAX), "True"),
            work(1, Some(-1), "True"),
        ] {
            let mut state = state();
            state.handle(Input::Work(Delta::Applied(Arc::new(work))));
            assert_eq!((due_at(&mut state, 10_000), state.next_due()), (0, None));
        }
        let mut state = state();
        state.handle(Input::Work(Delta::Applied(Arc::new(work(1, Some(30), "True")))));
        assert_eq!(due_at(&mut state, 110), 0);
        state.handle(Input::Work(Delta::Applied(Arc::new(work(2, None, "True")))));
        assert_eq!(due_at(&mut state, 10_000), 0);
    }

    #[test]
    fn a_work_stays_once_the_rule_is_taken_out_that_made_it_complete() {
        let mut state = state();
        state.handle(Input::Work(Delta::Applied(Arc::new(work(1, Some(30), "True")))));
        let mut without = work(2, Some(30), "True");
        without.spec.manifest_configs.clear();
        state.handle(Input::Work(Delta::Applied(Arc::new(without))));
        assert_eq!((due_at(&mut state, 10_000), state.next_due()), (0, None));
    }

    #[test]
    fn a_work_stays_whose_job_was_replaced_after_the_status_said_complete() {
        let mut state = state();
        state.handle(Input::Work(Delta::Applied(Arc::new(work(1, Some(30), "True")))));
        let mut edited = work(2, Some(30), "True");
        edited.spec.workload.manifests = vec![job("another")];
        state.handle(Input::Work(Delta::Applied(Arc::new(edited))));
        assert_eq!((due_at(&mut state, 10_000), state.next_due()), (0, None));
    }

    #[test]
    fn a_failed_deletion_is_tried_again() {
        let mut state = state();
        state.handle(Input::Work(Delta::Applied(Arc::new(work(1, Some(0), "True")))));
        let (key, _) = state.due(at(200).into(), 10).remove(0);
        let result = Err(Failure::Conflict);
        state.handle(Input::Ended {
            key,
            at: instant(at(200)),
            result,
        });
        assert_eq!((due_at(&mut state, 200), due_at(&mut state, 201)), (0, 1));
    }
}
