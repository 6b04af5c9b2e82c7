//! What is to be done about one thing, by all that is known.

use portolan_runtime::watch::SyncState;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use portolan_api::count::counted;
use tokio::time::Instant;

use super::inventory::Origin;
use super::key::{Target, TemplateKey};
use super::message::{Item, Write};
use super::namespace_decisions::{Decided, NamespaceDecisions};
use super::report;
use super::state::State;
use super::template::{Content, Made};
use crate::absence::Judgement;
use crate::bound::Right;
use crate::moment::Moment;
use crate::reconcile::Action;
use crate::sabotage::{Rule, sabotaged};

/// What is to become of a work.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is to be there and to say this.
    Present(Arc<Content>),
    /// It is to be gone.
    Absent,
    /// It stays as it is, there or not.
    Keep,
    /// It stays as it is until then.
    KeepUntil(Instant),
    /// It stays as it is, because of this.
    Refused(String),
}

/// Most works that the templates of one namespace may have: templates times clusters of their decisions. Each is looked at whenever
/// the decision changes, so that a larger number would let a tenant keep the works of others waiting, and use much memory.
const MOST_WORKS: usize = 1_000_000;
/// The status of a template with fewer clusters is computed whenever something changes.
const FEW_CLUSTERS: usize = 1_000;
/// How long the status of a template rests, for each of its clusters: about ten times as long as it takes to compute.
const REST_PER_CLUSTER: Duration = Duration::from_micros(50);

impl State {
    /// What is decided for a template, if its namespace is known. A decision that asks for too many works is not acted on.
    fn decided(&self, key: &TemplateKey) -> Option<Decided<'_>> {
        let template = self.templates.get(key)?;
        let decided = self.spaces.get(&key.0)?.decided(template);
        Some(match (&decided, self.is_too_many(key)) {
            (Decided::Clusters(clusters) | Decided::AtLeast(clusters, _), true) => Decided::Unknown(format!(
                "{} of this namespace and {} of the decision are too many; accepted: at most {MOST_WORKS} works for a \
                 namespace, templates times clusters",
                counted(self.templates_of(key), "template"),
                counted(clusters.len(), "cluster"),
            )),
            _ => decided,
        })
    }

    fn templates_of(&self, key: &TemplateKey) -> usize {
        self.counts.get(&key.0).copied().unwrap_or_default()
    }

    /// Whether the templates of a namespace would have too many works, if each was decided for as many clusters as this one.
    pub(super) fn is_too_many(&self, key: &TemplateKey) -> bool {
        let template = self.templates.get(key);
        let space = self.spaces.get(&key.0);
        let clusters = template
            .zip(space)
            .map_or(0, |(template, space)| space.count(template));
        clusters.saturating_mul(self.templates_of(key)) > MOST_WORKS
    }

    /// Where the work of a template is decided to be.
    pub(super) fn targets(&self, key: &TemplateKey) -> Vec<Target> {
        let clusters = match self.decided(key) {
            Some(Decided::Clusters(clusters) | Decided::AtLeast(clusters, _)) => clusters,
            _ => return Vec::new(),
        };
        let target = |cluster: &String| Target {
            template: key.clone(),
            cluster: cluster.clone(),
        };
        clusters.keys().map(target).collect()
    }

    /// The works that a change of one cluster concerns: those that are there, and those that are decided to be. A member changes what
    /// it says of itself as often as it likes, and works of other clusters have nothing to do with that.
    pub(super) fn choosing(&self, cluster: &str) -> BTreeSet<Target> {
        let first = (cluster.to_owned(), String::new());
        let made = self.names.range(first..);
        let made = made.take_while(|((namespace, _), _)| namespace == cluster);
        let made = made.map(|(_, target)| target.clone());
        let is_decided = |key: &&TemplateKey| match self.decided(key) {
            Some(Decided::Clusters(clusters) | Decided::AtLeast(clusters, _)) => {
                clusters.contains_key(cluster)
            }
            _ => false,
        };
        let wanted = self.templates.keys().filter(is_decided).map(|key| Target {
            template: key.clone(),
            cluster: cluster.to_owned(),
        });
        made.chain(wanted).collect()
    }

    /// What is to become of a work.
    pub(super) fn verdict(&self, target: &Target, now: Moment) -> Verdict {
        if !self.works.is_synced() {
            return Verdict::Keep;
        }
        let Some(template) = self.templates.get(&target.template) else {
            let unknown = self.unreadable.contains(&target.template);
            return match unknown && !sabotaged(Rule::UnreadableIsNotAbsent) {
                true => Verdict::Keep,
                false => Verdict::Absent,
            };
        };
        let known =
            |space: &&NamespaceDecisions| space.known.is_synced() || sabotaged(Rule::NeverDestroyOnDoubt);
        let Some(space) = self.spaces.get(&target.template.0).filter(known) else {
            return Verdict::Keep;
        };
        let Ok(content) = &template.content else {
            return Verdict::Keep;
        };
        let (clusters, exact) = match self.decided(&target.template) {
            Some(Decided::Clusters(clusters)) => (clusters, true),
            Some(Decided::AtLeast(clusters, _)) => (clusters, false),
            Some(Decided::None) => return Verdict::Absent,
            Some(Decided::Unknown(_)) | None => return Verdict::Keep,
        };
        let Some(namespaces) = clusters.get(&target.cluster) else {
            let is_replaced = space.is_replaced(&template.placement_key, &target.cluster);
            let (home, cluster) = (&target.template.0, &target.cluster);
            let may_be_named = |namespace: &String| self.reach.allows(home, cluster, [namespace]).is_ok();
            return match self.inventory.judge(cluster, may_be_named, is_replaced, now) {
                _ if !exact || self.inventory.known == SyncState::Listing => Verdict::Keep,
                Judgement::KeepUntil(at) if !sabotaged(Rule::SilentIsNotUnwanted) => Verdict::KeepUntil(at),
                Judgement::Keep if !sabotaged(Rule::SilentIsNotUnwanted) => Verdict::Keep,
                _ => Verdict::Absent,
            };
        };
        if !self.inventory.known.is_synced() {
            return Verdict::Keep;
        }
        let home = &target.template.0;
        let origin = match self.bound.is_cluster(&target.cluster) {
            true => Origin::ManagedCluster,
            false => Origin::Profiles,
        };
        let resolved = self
            .reach
            .allows(home, &target.cluster, namespaces)
            .and_then(|()| self.inventory.resolve(&target.cluster, namespaces, origin));
        match resolved {
            Ok(()) if sabotaged(Rule::BoundClustersOnly) => Verdict::Present(content.clone()),
            Ok(()) => match self.bound.right(home, &target.cluster) {
                Right::Granted => Verdict::Present(content.clone()),
                Right::Unknown => Verdict::Keep,
                // A work that is there stays as it is: whoever lost a cluster must not change what runs there.
                Right::Missing if self.made.contains_key(target) => Verdict::Keep,
                Right::Missing if !self.bound.is_cluster(&target.cluster) => Verdict::Refused(format!(
                    "{0} is no ManagedCluster, and a cluster that joins under the name later would apply the work; accepted: the \
                     name of a ManagedCluster, or --require-bindings=off given to the controller",
                    target.cluster
                )),
                Right::Missing => Verdict::Refused(format!(
                    "no ManagedClusterSet with {0} in it is bound to the namespace {home}; accepted: a ManagedClusterSetBinding in \
                     {home} for a set of {0}, or --require-bindings=off given to the controller",
                    target.cluster
                )),
            },
            Err(why) => Verdict::Refused(why),
        }
    }

    fn is_right(&self, target: &Target, made: &Made, content: &Arc<Content>) -> bool {
        let accepted = self.accepted.get(target);
        made.says(content) || accepted.is_some_and(|(wrote, shown)| wrote == content && made.says_as(shown))
    }

    /// What is to be done about a thing, and what it cost to find out.
    pub(super) fn decide(&mut self, item: &Item, now: Moment) -> (usize, Action<Write>) {
        match item {
            Item::Status(key) => self.decide_status_at_rest(key, now),
            _ => (1, self.decide_other(item, now)),
        }
    }

    /// A template with many clusters is not reported on after each of its works.
    fn decide_status_at_rest(&mut self, key: &TemplateKey, now: Moment) -> (usize, Action<Write>) {
        let clusters = match self.decided(key) {
            Some(Decided::Clusters(clusters)) => clusters.len(),
            _ => 0,
        };
        let rest = match clusters {
            0..FEW_CLUSTERS => Duration::ZERO,
            many => REST_PER_CLUSTER.saturating_mul(u32::try_from(many).unwrap_or(u32::MAX)),
        };
        let until = self.reported.get(key).map(|at| *at + rest);
        if let Some(until) = until.filter(|until| *until > now.instant) {
            return (1, Action::RequeueAt(until));
        }
        if clusters >= FEW_CLUSTERS {
            self.reported.insert(key.clone(), now.instant);
        }
        (clusters, self.decide_status(key, now))
    }

    fn decide_other(&mut self, item: &Item, now: Moment) -> Action<Write> {
        match item {
            Item::Profiles => {
                if self.watching_profiles || self.templates.is_empty() {
                    return Action::AwaitChange;
                }
                self.watching_profiles = true;
                Action::Write(Write::WatchProfiles)
            }
            Item::Decisions(namespace) => self.decide_watch(namespace),
            Item::Work(target) => self.decide_work(target, now),
            Item::Status(key) => self.decide_status(key, now),
        }
    }

    fn decide_watch(&mut self, namespace: &str) -> Action<Write> {
        let wanted = self.counts.contains_key(namespace);
        match (wanted, self.spaces.contains_key(namespace)) {
            (true, false) => {
                self.watches += 1;
                self.spaces
                    .insert(namespace.to_owned(), NamespaceDecisions::new(self.watches));
                Action::Write(Write::WatchDecisions {
                    namespace: namespace.to_owned(),
                    watch: self.watches,
                })
            }
            // Works of a template that is gone go whatever is decided, so nobody needs to know.
            (false, true) if self.works.is_synced() => {
                self.spaces.remove(namespace);
                Action::Write(Write::EndDecisions {
                    namespace: namespace.to_owned(),
                })
            }
            _ => Action::AwaitChange,
        }
    }

    fn decide_work(&self, target: &Target, now: Moment) -> Action<Write> {
        let made = self.made.get(target);
        let target = target.clone();
        match (self.verdict(&target, now), made) {
            (_, Some(made)) if made.deleting => Action::AwaitChange,
            (Verdict::Present(content), None) => Action::Write(Write::Create { target, content }),
            (Verdict::Present(content), Some(made)) if !self.is_right(&target, made, &content) => {
                Action::Write(Write::Update {
                    target,
                    version: made.version.clone(),
                    content,
                })
            }
            (Verdict::Absent, Some(made)) => Action::Write(Write::Delete {
                target,
                name: made.name().to_owned(),
                version: made.version.clone(),
            }),
            (Verdict::KeepUntil(at), Some(_)) => Action::RequeueAt(at),
            _ => Action::AwaitChange,
        }
    }

    fn decide_status(&self, key: &TemplateKey, now: Moment) -> Action<Write> {
        let Some(template) = self.templates.get(key).filter(|_| self.works.is_synced()) else {
            return Action::AwaitChange;
        };
        let Some(space) = self.spaces.get(&key.0).filter(|space| space.known.is_synced()) else {
            return Action::AwaitChange;
        };
        let outlook = match &template.content {
            Err(mistakes) => Some(report::Outlook::Invalid(mistakes.clone())),
            Ok(_) => match self.decided(key) {
                Some(Decided::None) => Some(report::Outlook::NoDecision(template.placement_key.clone())),
                Some(Decided::Unknown(why) | Decided::AtLeast(_, why)) => Some(report::Outlook::Waiting(why)),
                Some(Decided::Clusters(_)) => self.outlook(key, now),
                None => None,
            },
        };
        let Some(outlook) = outlook else {
            return Action::AwaitChange;
        };
        let placements = space.placements(&template.placement_key);
        match report::status(key, template, &outlook, &placements, now.wall) {
            Some(write) => Action::Write(write),
            None => Action::AwaitChange,
        }
    }

    /// How it stands with the clusters of a template. Nothing while works are still to be written.
    fn outlook(&self, key: &TemplateKey, now: Moment) -> Option<report::Outlook> {
        if !self.inventory.known.is_synced() {
            return None;
        }
        let (mut refused, mut under_way) = (Vec::new(), false);
        for target in self.targets(key) {
            let made = self.made.get(&target);
            match self.verdict(&target, now) {
                Verdict::Refused(why) => refused.push(why),
                Verdict::Present(content) => {
                    let right = made.is_some_and(|made| self.is_right(&target, made, &content));
                    match self
                        .failures
                        .get(&target)
                        .and_then(|failure| report::failure(&target, *failure))
                    {
                        Some(why) if !right => refused.push(why),
                        _ => under_way |= !right,
                    }
                }
                Verdict::Absent | Verdict::Keep | Verdict::KeepUntil(_) => {}
            }
        }
        match (refused.is_empty(), under_way) {
            (false, _) => Some(report::Outlook::Refused(refused)),
            (true, true) => None,
            (true, false) => Some(report::Outlook::Synced),
        }
    }
}
