//! What is to be done about one thing, by all that is known.

use std::sync::Arc;

use tokio::time::Instant;

use super::inventory::Origin;
use super::key::{Target, TemplateKey};
use super::message::{Item, Write};
use super::report;
use super::space::{Decided, Space};
use super::state::State;
use super::template::{Content, Made};
use crate::absence::Judgement;
use crate::bound::Right;
use crate::moment::Moment;
use crate::sabotage::{Rule, broken};
use crate::upkeep::{Decision, Knowledge};

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

impl State {
    /// Where the work of a template is decided to be.
    pub(super) fn targets(&self, key: &TemplateKey) -> Vec<Target> {
        let Some(template) = self.templates.get(key) else {
            return Vec::new();
        };
        let clusters = match self.spaces.get(&key.0).map(|space| space.decided(template)) {
            Some(Decided::Clusters(clusters) | Decided::AtLeast(clusters, _)) => clusters,
            _ => return Vec::new(),
        };
        let target = |cluster: &String| Target {
            template: key.clone(),
            cluster: cluster.clone(),
        };
        clusters.keys().map(target).collect()
    }

    /// What is to become of a work.
    pub(super) fn verdict(&self, target: &Target, now: Moment) -> Verdict {
        if !self.works.is_complete() {
            return Verdict::Keep;
        }
        let Some(template) = self.templates.get(&target.template) else {
            let unknown = self.unreadable.contains(&target.template);
            return match unknown && !broken(Rule::UnreadableIsNotAbsent) {
                true => Verdict::Keep,
                false => Verdict::Absent,
            };
        };
        let known = |space: &&Space| space.known.is_complete() || broken(Rule::NeverDestroyOnDoubt);
        let Some(space) = self.spaces.get(&target.template.0).filter(known) else {
            return Verdict::Keep;
        };
        let Ok(content) = &template.content else {
            return Verdict::Keep;
        };
        let (clusters, exact) = match space.decided(template) {
            Decided::Clusters(clusters) => (clusters, true),
            Decided::AtLeast(clusters, _) => (clusters, false),
            Decided::None => return Verdict::Absent,
            Decided::Unknown(_) => return Verdict::Keep,
        };
        let Some(namespaces) = clusters.get(&target.cluster) else {
            let is_replaced = space.is_replaced(&template.placement_key, &target.cluster);
            let (home, cluster) = (&target.template.0, &target.cluster);
            let may_be_named = |namespace: &String| self.reach.allows(home, cluster, [namespace]).is_ok();
            return match self.inventory.judge(cluster, may_be_named, is_replaced, now) {
                _ if !exact || self.inventory.known == Knowledge::Partial => Verdict::Keep,
                Judgement::KeepUntil(at) if !broken(Rule::SilentIsNotUnwanted) => Verdict::KeepUntil(at),
                Judgement::Keep if !broken(Rule::SilentIsNotUnwanted) => Verdict::Keep,
                _ => Verdict::Absent,
            };
        };
        if !self.inventory.known.is_complete() {
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
            Ok(()) if broken(Rule::BoundClustersOnly) => Verdict::Present(content.clone()),
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

    pub(super) fn decide(&mut self, item: &Item, now: Moment) -> Decision<Write> {
        match item {
            Item::Profiles => {
                if self.watching_profiles || self.templates.is_empty() {
                    return Decision::Nothing;
                }
                self.watching_profiles = true;
                Decision::Write(Write::WatchProfiles)
            }
            Item::Decisions(namespace) => self.decide_watch(namespace),
            Item::Work(target) => self.decide_work(target, now),
            Item::Status(key) => self.decide_status(key, now),
        }
    }

    fn decide_watch(&mut self, namespace: &str) -> Decision<Write> {
        let wanted = self.templates.keys().any(|key| key.0 == namespace);
        match (wanted, self.spaces.contains_key(namespace)) {
            (true, false) => {
                self.watches += 1;
                self.spaces.insert(namespace.to_owned(), Space::new(self.watches));
                Decision::Write(Write::WatchDecisions {
                    namespace: namespace.to_owned(),
                    watch: self.watches,
                })
            }
            // Works of a template that is gone go whatever is decided, so nobody needs to know.
            (false, true) if self.works.is_complete() => {
                self.spaces.remove(namespace);
                Decision::Write(Write::EndDecisions {
                    namespace: namespace.to_owned(),
                })
            }
            _ => Decision::Nothing,
        }
    }

    fn decide_work(&self, target: &Target, now: Moment) -> Decision<Write> {
        let made = self.made.get(target);
        let target = target.clone();
        match (self.verdict(&target, now), made) {
            (_, Some(made)) if made.deleting => Decision::Nothing,
            (Verdict::Present(content), None) => Decision::Write(Write::Create { target, content }),
            (Verdict::Present(content), Some(made)) if !self.is_right(&target, made, &content) => {
                Decision::Write(Write::Update {
                    target,
                    version: made.version.clone(),
                    content,
                })
            }
            (Verdict::Absent, Some(made)) => Decision::Write(Write::Delete {
                target,
                name: made.name().to_owned(),
                version: made.version.clone(),
            }),
            (Verdict::KeepUntil(at), Some(_)) => Decision::Later(at),
            _ => Decision::Nothing,
        }
    }

    fn decide_status(&self, key: &TemplateKey, now: Moment) -> Decision<Write> {
        let Some(template) = self.templates.get(key).filter(|_| self.works.is_complete()) else {
            return Decision::Nothing;
        };
        let Some(space) = self.spaces.get(&key.0).filter(|space| space.known.is_complete()) else {
            return Decision::Nothing;
        };
        let outlook = match &template.content {
            Err(mistakes) => Some(report::Outlook::Invalid(mistakes.clone())),
            Ok(_) => match space.decided(template) {
                Decided::None => Some(report::Outlook::NoDecision(template.placement_key.clone())),
                Decided::Unknown(why) | Decided::AtLeast(_, why) => Some(report::Outlook::Waiting(why)),
                Decided::Clusters(_) => self.outlook(key, now),
            },
        };
        let Some(outlook) = outlook else {
            return Decision::Nothing;
        };
        let placements = space.placements(&template.placement_key);
        match report::status(key, template, &outlook, &placements, now.wall) {
            Some(write) => Decision::Write(write),
            None => Decision::Nothing,
        }
    }

    /// How it stands with the clusters of a template. Nothing while works are still to be written.
    fn outlook(&self, key: &TemplateKey, now: Moment) -> Option<report::Outlook> {
        if !self.inventory.known.is_complete() {
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
