//! The scheduling controller: watches in, decisions out.
//!
//! [`Scheduler`] decides and does no I/O; [`Publisher`] writes and decides nothing; the loop here passes what one says to
//! the other.

mod answer;
mod backoff;
mod cache_sync;
mod change;
mod condition_counts;
mod confirm_gone;
mod decision;
mod decision_cache;
mod doubt;
mod effect;
mod event_drafts;
mod hear;
mod heartbeat;
mod input;
mod job;
mod names;
mod prior;
mod publisher;
mod restore;
mod roster;
mod rotation;
mod scheduler;
mod score_budget;
mod status;
mod teardown;
#[cfg(test)]
mod tests;
mod unreadable;
mod write_conflicts;

use portolan_runtime::watch::SyncState;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use portolan_api::count::counted;
use portolan_engine::placement::PlacementKey;
use portolan_runtime::failure::shortened;
use portolan_runtime::logging::{self, ChangeLog};
use portolan_runtime::tasks::{LONGEST_WAIT, Turns};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::Instrument;

pub(crate) use heartbeat::heartbeats;
pub(crate) use input::{Input, Received};
pub(crate) use publisher::Publisher;

use crate::events::Events;
use crate::health::{Missing, Outputs, UNSERVED};
use crate::metrics::Metrics;
use crate::moment::Moment;
use crate::settings::{Output, Settings};
use crate::{sabotage, trace};
use cache_sync::Watched;
use condition_counts::ConditionCounts;
use job::{Change, Job, Report, Step, Summary, Teardown};
use scheduler::Scheduler;

/// Messages taken in before the next look at what is due: a burst of changes is one evaluation.
const BATCH: usize = 1024;
/// Fewer placements than these that wait are walked through in every round.
const MANY: usize = 1_000;
/// Shortest time between two walks through more than these. The metric of how long placements wait is as much off.
const WALK_INTERVAL: Duration = Duration::from_millis(100);
/// Names the loop.
pub(crate) const NAME: &str = "placements";

/// The controller, ready to run.
pub(crate) struct Placements {
    scheduler: Scheduler,
    settings: Settings,
    publisher: Publisher,
    events: Events,
    metrics: Metrics,
    outputs: Outputs,
    /// Each message and each placement counts: one may take a while, and together they may take minutes.
    turns: Turns,
    /// When the oldest message came that was taken in since the last look at what is due.
    oldest: Option<Instant>,
    /// When the message came that made each placement due.
    due_since: HashMap<PlacementKey, Instant>,
    conditions: ConditionCounts,
    /// When the placements that are due were last walked through.
    walked: Option<Instant>,
    running: JoinSet<Done>,
    first_round_done: bool,
    /// When the controller was made.
    started: Instant,
    /// Decisions that were written before everything was known to be right for the first time.
    first_written: usize,
    changes: ChangeLog,
    /// What was last said of the outputs, and of how many placements keep their decision.
    reported: ([Option<SyncState>; 2], usize),
}

/// What became of a job, and since when its placement had been due.
struct Done {
    report: Report,
    due_since: Option<Instant>,
    news: News,
}

/// What is said in the log once it is written.
enum News {
    Decision {
        clusters: usize,
        change: Change,
    },
    /// What the placement left is deleted.
    Removal,
}

impl Placements {
    pub(crate) fn new(
        settings: Settings,
        publisher: Publisher,
        events: Events,
        outputs: Outputs,
    ) -> Placements {
        for (output, wanted) in [
            (Outputs::OCM_DECISIONS, settings.ocm_decisions),
            (Outputs::SLICES, settings.slices),
        ] {
            if wanted == Output::Off {
                outputs.unwanted(output);
            }
        }
        Placements {
            scheduler: Scheduler::new(settings.clone(), Instant::now()),
            settings,
            publisher,
            events,
            metrics: outputs.metrics.clone(),
            turns: outputs.health.tasks().turns(NAME),
            outputs,
            oldest: None,
            due_since: HashMap::new(),
            conditions: ConditionCounts::default(),
            walked: None,
            running: JoinSet::new(),
            first_round_done: false,
            started: Instant::now(),
            first_written: 0,
            changes: ChangeLog::default(),
            reported: Default::default(),
        }
    }

    /// Runs until told to stop, also in the middle of a round; then finishes what is being written. What is due stays due for
    /// the next process.
    pub(crate) async fn run(mut self, mut inputs: mpsc::Receiver<Received>, mut stop: oneshot::Receiver<()>) {
        let mut batch = Vec::with_capacity(BATCH);
        'rounds: loop {
            self.turns.turn();
            sabotage::at_turn(NAME).await;
            let sleep = self.sleep();
            tokio::select! {
                biased;
                _ = &mut stop => break,
                Some(report) = self.running.join_next() => self.finished(report),
                received = inputs.recv_many(&mut batch, BATCH) => {
                    if received == 0 {
                        break;
                    }
                    batch.drain(..).for_each(|received| self.take_in(received));
                }
                () = tokio::time::sleep(sleep) => {}
            }
            // Everything that has arrived is taken in before anything is decided.
            while let Ok(received) = inputs.try_recv() {
                self.take_in(received);
                // A hub that is being listed fills the queue as fast as it is emptied.
                if is_requested(&mut stop) {
                    break 'rounds;
                }
            }
            if self.start_due(&mut stop).await.is_break() {
                break;
            }
            self.report_health();
            self.report_burst();
        }
        while let Some(report) = self.running.join_next().await {
            self.finished(report);
        }
    }

    fn take_in(&mut self, received: Received) {
        self.turns.turn();
        self.oldest.get_or_insert(received.at);
        self.scheduler.handle(received.input);
    }

    fn now(&self) -> Moment {
        Moment::now(&self.settings.clock)
    }

    /// How long nothing happens unless something comes in.
    fn sleep(&self) -> Duration {
        if self.running.len() >= self.settings.parallel_writes {
            return LONGEST_WAIT;
        }
        let now = self.now();
        let until = |at: Instant| at.saturating_duration_since(now.instant);
        let wait = self.scheduler.next_timer(now).map_or(LONGEST_WAIT, until);
        let burst = self.changes.due().map(until);
        let wait = burst.map_or(wait, |burst| wait.min(burst));
        // A timer may lie a fraction of the clock's resolution ahead.
        wait.clamp(Duration::from_millis(1), LONGEST_WAIT)
    }

    /// Starts what is due. `Break` when it was told to stop meanwhile: a round may be of all placements of a hub.
    async fn start_due(&mut self, stop: &mut oneshot::Receiver<()>) -> ControlFlow<()> {
        let now = self.now();
        // What became due did so by one of the messages of this round, or by a timer.
        let at = self.oldest.unwrap_or_else(Instant::now);
        let departed = self.scheduler.departed();
        for key in &departed {
            self.metrics.placement_gone(&key.namespace, &key.name);
            self.conditions.remove(key);
            self.due_since.remove(key);
        }
        if !self.scheduler.missing().is_empty() {
            self.oldest = None;
            self.scheduler
                .cannot_read(self.outputs.health.failures().problems());
        } else if self.walks_now() {
            self.oldest = None;
            for key in self.scheduler.due() {
                if !self.due_since.contains_key(key) {
                    self.due_since.insert(key.clone(), at);
                }
            }
        }
        let mut changed = !departed.is_empty();
        while self.running.len() < self.settings.parallel_writes {
            let started = Instant::now();
            let Some(step) = self.scheduler.next(now) else {
                break;
            };
            changed = true;
            match step {
                Step::Reading => {}
                Step::Settled(summary) => {
                    self.metrics.evaluated(started.elapsed());
                    self.due_since.remove(&summary.key);
                    self.account(&summary);
                }
                Step::Publish(job) => {
                    let took = started.elapsed();
                    self.metrics.evaluated(took);
                    self.account(&job.summary);
                    self.start(*job, took);
                }
                Step::Teardown(teardown) => self.tear_down(*teardown, at),
            }
            self.turns.turn();
            sabotage::after_evaluation(NAME).await;
            // Other tasks have their turn between two placements, also where they share one thread.
            tokio::task::yield_now().await;
            if is_requested(stop) {
                return ControlFlow::Break(());
            }
        }
        self.metrics.queue(self.scheduler.depth());
        // They are counted over all placements, which most of what comes in does not change.
        if changed {
            self.account_conditions();
        }
        ControlFlow::Continue(())
    }

    fn start(&mut self, mut job: Job, evaluation: Duration) {
        let (publisher, events, metrics) =
            (self.publisher.clone(), self.events.clone(), self.metrics.clone());
        let due_since = self.due_since.remove(&job.summary.key);
        let notes = std::mem::take(&mut job.notes);
        let news = News::Decision {
            clusters: job.summary.clusters,
            change: std::mem::take(&mut job.change),
        };
        let reference = reference(&job);
        let age = due_since.map_or(evaluation, |since| since.elapsed());
        let span = trace::decision(&job.summary.key, job.summary.clusters, age);
        trace::evaluated(&span, evaluation);
        self.running.spawn(async move {
            sabotage::at_write(NAME);
            let started = Instant::now();
            let report = publisher.publish(job).instrument(span.clone()).await;
            report.trace(&span);
            if report.result.is_ok() {
                metrics.published(started.elapsed(), due_since.map(|since| since.elapsed()));
                events.tell(&reference, notes);
            }
            Done {
                report,
                due_since,
                news,
            }
        });
    }

    fn tear_down(&mut self, teardown: Teardown, since: Instant) {
        let publisher = self.publisher.clone();
        let span = trace::decision(&teardown.key, 0, since.elapsed());
        self.running.spawn(async move {
            let report = publisher.tear_down(teardown).instrument(span.clone()).await;
            report.trace(&span);
            Done {
                report,
                due_since: None,
                news: News::Removal,
            }
        });
    }

    fn finished(&mut self, done: Result<Done, tokio::task::JoinError>) {
        match done {
            Ok(Done {
                report,
                due_since,
                news,
            }) => {
                if report.result.is_ok() {
                    self.say(&report.key, &news);
                }
                // It stays due, and people have been waiting since the message came.
                if let Some(since) = due_since
                    && report.result.is_err()
                    && self.scheduler.is_known(&report.key)
                {
                    self.due_since.insert(report.key.clone(), since);
                }
                self.scheduler.done(report, Instant::now());
            }
            // A task ends early only when the runtime does, or by a panic, which is passed on: the placement would stay in
            // flight for ever. The end of the loop is noticed and ends the process ([`crate::tasks`]).
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {}
        }
    }

    /// Says in the log what was written: a number for the first round, then a line for each decision that changed.
    fn say(&mut self, key: &PlacementKey, news: &News) {
        let text = match news {
            News::Decision { change, .. } if *change == Change::default() => return,
            News::Decision { .. } if !self.first_round_done => {
                self.first_written += 1;
                return;
            }
            News::Decision { clusters, change } => {
                let change = logging::change(&change.added, &change.removed);
                let clusters = counted(*clusters, "cluster");
                format!("{}: {clusters} ({change})", shortened(&key.to_string(), 200))
            }
            News::Removal => format!(
                "{}: gone, its decision is deleted",
                shortened(&key.to_string(), 200)
            ),
        };
        if self.changes.changed(Instant::now()) {
            tracing::info!("{text}");
        }
    }

    fn report_burst(&mut self) {
        if let Some(more) = self.changes.unsaid(Instant::now()) {
            tracing::info!("{} changed", counted(more, "more decision"));
        }
    }

    fn account(&mut self, summary: &Summary) {
        let key = &summary.key;
        let published = crate::metrics::Published {
            clusters: summary.clusters,
            decisions: summary.decisions,
            slices: summary.slices,
        };
        self.metrics.placement(&key.namespace, &key.name, published);
        self.conditions.insert(key.clone(), summary.conditions);
    }

    /// Whether it is time to note which placements are due, for the metric of how long they wait. Where many wait, a walk after each
    /// write would cost more than the writes.
    fn walks_now(&mut self) -> bool {
        let is_time =
            self.scheduler.depth() < MANY || self.walked.is_none_or(|at| at.elapsed() >= WALK_INTERVAL);
        if is_time {
            self.walked = Some(Instant::now());
        }
        is_time
    }

    fn account_conditions(&self) {
        for (type_, [is_true, is_false]) in self.conditions.counts() {
            self.metrics.condition(type_, true, is_true);
            self.metrics.condition(type_, false, is_false);
        }
    }

    fn report_health(&mut self) {
        let mut reasons = self.scheduler.missing();
        if reasons.is_empty() && !self.first_round_done {
            self.first_round_done = self.scheduler.depth() == 0;
            match self.first_round_done {
                true => {
                    let (placements, clusters) = self.scheduler.counts();
                    let (changed, took) = (self.first_written, logging::time_span(self.started.elapsed()));
                    let placements = counted(placements, "placement");
                    let clusters = counted(clusters, "cluster");
                    let changed = counted(changed, "decision");
                    tracing::info!("ready after {took}: {placements}, {clusters}; {changed} changed");
                }
                false => reasons.push(Missing::from("the first decisions are being written")),
            }
        }
        self.metrics.set_ready(reasons.is_empty());
        self.outputs.health.set(reasons);
        let outputs = [Watched::Decisions, Watched::Slices].map(|kind| self.scheduler.output(kind));
        let report = (outputs, self.scheduler.restoring());
        if self.reported != report {
            self.reported = report;
            self.report_notes();
        }
    }

    fn report_notes(&self) {
        let (outputs, kept) = self.reported;
        for (output, knowledge) in [Outputs::OCM_DECISIONS, Outputs::SLICES].into_iter().zip(outputs) {
            match knowledge {
                Some(SyncState::Synced) => self.outputs.on(output),
                Some(SyncState::NotServed) => self.outputs.off(output, UNSERVED),
                // Not known yet, or not wanted.
                Some(SyncState::Listing) | None => {}
            }
        }
        self.metrics.restoring(kept);
        let note = || {
            let keep = if kept == 1 { "keeps its" } else { "keep their" };
            format!(
                "{} {keep} last decision while missing clusters may be restored (DecisionKept)",
                counted(kept, "placement")
            )
        };
        let notes = (kept > 0).then(note).into_iter().collect();
        self.outputs.health.note("restoring", notes);
    }
}

/// Whether the loop is to end. The channel is not to be asked again then.
fn is_requested(stop: &mut oneshot::Receiver<()>) -> bool {
    !matches!(stop.try_recv(), Err(oneshot::error::TryRecvError::Empty))
}

fn reference(job: &Job) -> ObjectReference {
    ObjectReference {
        api_version: Some("cluster.open-cluster-management.io/v1beta1".to_owned()),
        kind: Some("Placement".to_owned()),
        namespace: Some(job.placement.namespace.clone()),
        name: Some(job.placement.name.clone()),
        uid: job.placement.uid.clone(),
        ..ObjectReference::default()
    }
}
