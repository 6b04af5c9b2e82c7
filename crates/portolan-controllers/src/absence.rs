//! Clusters that cannot be reached, and when their works may be deleted.
//!
//! A cluster that falls silent is tainted, and leaves the decisions of placements that do not tolerate the taint. That says
//! nothing about what runs there: it goes on running, and nobody can stop it. So the works of such a cluster are kept: when
//! the cluster is heard of again and selected again, its workload was never touched. Two things end this: another cluster
//! has taken its place, or the cluster is back and is not selected.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::cluster::{ManagedCluster, TaintEffect};
use portolan_api::labels::{conditions, ocm};
use portolan_api::multicluster::ClusterProfile;

use crate::sabotage::{Rule, sabotaged};
use tokio::time::Instant;

use crate::moment::Moment;

/// How long the works of a cluster that is back are kept without a decision for it. Its scheduler has to notice that the
/// cluster is back, decide, and write the decision: a shorter time deletes a workload that is about to be wanted, a longer one
/// leaves it where it is not wanted.
pub(crate) const RETURN_GRACE: Duration = Duration::from_secs(30);

/// What a ManagedCluster says about whether it can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// It is known not to answer. One of which nothing is said is not.
    pub(crate) is_offline: bool,
    /// It has reported once, and is offline or still has the taint of a cluster that is.
    is_away: bool,
    /// It is being deleted.
    is_leaving: bool,
    /// Since when it is available, by the clock of whoever says so.
    available_since: Option<Timestamp>,
}

impl Standing {
    /// What a ManagedCluster says.
    pub(crate) fn of(cluster: &ManagedCluster) -> Standing {
        let conditions = cluster
            .status
            .as_ref()
            .map_or(&[][..], |status| &status.conditions);
        let available = said(conditions, conditions::AVAILABLE);
        let is_tainted = cluster.spec.taints.iter().any(|taint| {
            let ours = [ocm::TAINT_UNREACHABLE, ocm::TAINT_UNAVAILABLE];
            taint.effect == TaintEffect::NoSelect && ours.contains(&taint.key.as_str())
        });
        let is_leaving = cluster.metadata.deletion_timestamp.is_some();
        Standing::new(available, is_tainted, is_leaving)
    }

    /// What a ClusterProfile says.
    pub(crate) fn of_profile(profile: &ClusterProfile) -> Standing {
        let conditions = profile
            .status
            .as_ref()
            .map_or(&[][..], |status| &status.conditions);
        let is_leaving = profile.metadata.deletion_timestamp.is_some();
        Standing::new(
            said(conditions, conditions::CONTROL_PLANE_HEALTHY),
            false,
            is_leaving,
        )
    }

    fn new(available: Option<(bool, Timestamp)>, is_tainted: bool, is_leaving: bool) -> Standing {
        let is_offline = available.is_some_and(|(is_available, _)| !is_available);
        Standing {
            is_offline,
            is_away: is_offline || (is_tainted && available.is_some()),
            is_leaving,
            available_since: available
                .filter(|(is_available, _)| *is_available)
                .map(|(_, since)| since),
        }
    }
}

/// Whether a list of conditions says that something is so, and since when.
fn said(list: &[Condition], type_: &str) -> Option<(bool, Timestamp)> {
    let condition = list.iter().find(|condition| condition.type_ == type_)?;
    Some((condition.status == "True", condition.last_transition_time.0))
}

/// Why a cluster that no decision names may keep its works, or may not get any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// It cannot be reached.
    Away,
    /// It is back; since when is not known before somebody looks.
    Back(Option<Instant>),
    /// It was there when this process heard of it for the first time, and has been available since this time.
    Found(Timestamp),
    /// It is being removed.
    Leaving,
}

/// How clusters stand, as far as that differs from a cluster that is simply there.
#[derive(Debug, Default)]
pub(crate) struct Absences {
    known: HashMap<String, Standing>,
    absent: BTreeMap<String, Absence>,
    /// Those of them whose absence ends with time: the clusters that are back or were found. All others need not be looked at
    /// in every turn, and a hub may have many that are away.
    returning: BTreeSet<String>,
}

impl Absences {
    /// Takes note of a cluster that cannot be read. One that was never read may be away, so that it keeps its works.
    pub(crate) fn cannot_read(&mut self, name: &str) {
        if !self.known.contains_key(name) && !sabotaged(Rule::UnreadableIsNotAbsent) {
            let away = Standing {
                is_away: true,
                ..Standing::default()
            };
            self.note(name, away);
        }
    }

    /// Takes note of a cluster. Whether that makes a difference.
    pub(crate) fn note(&mut self, name: &str, standing: Standing) -> bool {
        let before = self.known.insert(name.to_owned(), standing);
        let absence = match (self.absent.get(name), standing) {
            (_, Standing { is_leaving: true, .. }) => Some(Absence::Leaving),
            (_, Standing { is_away: true, .. }) => Some(Absence::Away),
            (Some(Absence::Away), _) => Some(Absence::Back(None)),
            (None, _) if before.is_none() => standing.available_since.map(Absence::Found),
            (before, _) => before.copied(),
        };
        match absence {
            Some(Absence::Back(_) | Absence::Found(_)) => {
                self.returning.insert(name.to_owned());
            }
            Some(Absence::Away | Absence::Leaving) | None => {
                self.returning.remove(name);
            }
        }
        let old = match absence {
            Some(absence) => self.absent.insert(name.to_owned(), absence),
            None => self.absent.remove(name),
        };
        // That a cluster was found as it should be is nothing that anybody waits for.
        old != absence && !matches!(absence, Some(Absence::Found(_)))
    }

    /// The cluster is gone. Whether that makes a difference.
    pub(crate) fn forget(&mut self, name: &str) -> bool {
        self.known.remove(name);
        self.returning.remove(name);
        self.absent.remove(name).is_some()
    }

    /// Counts from now for whoever came back, and is done with those who have been back for long.
    pub(crate) fn look(&mut self, now: Moment) {
        let absent = &mut self.absent;
        self.returning.retain(|name| {
            let Some(absence) = absent.get_mut(name) else {
                return false;
            };
            if let Absence::Back(None) = absence {
                *absence = Absence::Back(Some(now.instant));
            }
            let is_over = matches!(absence.judge(|| false, now), Judgement::Delete);
            if is_over {
                absent.remove(name);
            }
            !is_over
        });
    }

    pub(crate) fn of(&self, cluster: &str) -> Option<Absence> {
        self.absent.get(cluster).copied()
    }
}

/// What is to become of a work that no decision wants. What keeps it longer is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Judgement {
    Delete,
    KeepUntil(Instant),
    Keep,
}

impl Absence {
    /// What becomes of the works of such a cluster that no decision wants.
    pub(crate) fn judge(self, is_replaced: impl FnOnce() -> bool, now: Moment) -> Judgement {
        let until = match self {
            Absence::Leaving => return Judgement::Delete,
            Absence::Away if is_replaced() => return Judgement::Delete,
            Absence::Away => return Judgement::Keep,
            Absence::Back(since) => since.unwrap_or(now.instant) + RETURN_GRACE,
            // Said by another clock: one that is ahead must not keep works for longer.
            Absence::Found(since) => now.when(since.min(now.wall) + RETURN_GRACE),
        };
        match until {
            until if until > now.instant => Judgement::KeepUntil(until),
            _ => Judgement::Delete,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn away() -> Standing {
        Standing {
            is_away: true,
            ..Standing::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_is_at_clusters_that_are_back_and_not_at_those_that_are_away() {
        let moment = |wall| Moment {
            instant: Instant::now(),
            wall,
        };
        let now = moment(Timestamp::UNIX_EPOCH);
        let mut absences = Absences::default();
        for name in ["away", "back", "gone", "leaving"] {
            absences.note(name, away());
        }
        let leaving = Standing {
            is_leaving: true,
            ..Standing::default()
        };
        absences.note("leaving", leaving);
        absences.look(now);
        assert!(absences.returning.is_empty(), "{absences:?}");
        for name in ["back", "gone"] {
            absences.note(name, Standing::default());
        }
        absences.forget("gone");
        assert_eq!(Vec::from_iter(&absences.returning), ["back"]);
        absences.look(now);
        assert_eq!(absences.of("back"), Some(Absence::Back(Some(now.instant))));
        tokio::time::advance(RETURN_GRACE).await;
        absences.look(moment(Timestamp::UNIX_EPOCH + RETURN_GRACE));
        assert_eq!(absences.of("back"), None, "it has been back for long");
        assert_eq!(absences.of("away"), Some(Absence::Away));
        assert_eq!(absences.of("leaving"), Some(Absence::Leaving));
        assert!(absences.returning.is_empty(), "{absences:?}");
    }
}
