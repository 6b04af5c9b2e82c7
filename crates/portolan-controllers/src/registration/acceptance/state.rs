//! What is known of clusters and their namespaces, and what is to be written because of it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::{conditions, ocm};
use portolan_api::structural::is_dns_label;
use portolan_runtime::watch::{Delta, SyncState};
use tokio::time::Instant;

use crate::moment::Moment;
use crate::reconcile::{Action, Failure, Queue, Reconciler, Version};

/// How often a namespace that is being deleted is asked for works that are left. Shorter costs lists, longer keeps the
/// namespace longer than its works.
const WORKS_PAUSE: Duration = Duration::from_secs(2);
/// How often one is looked at that has no works left and is still there.
const RELEASED_PAUSE: Duration = Duration::from_secs(15);

/// How often it is asked for a namespace that the watch does not show: it was there before its cluster, without the label.
const UNWATCHED_PAUSE: Duration = Duration::from_secs(60);

/// What the state hears.
#[derive(Debug)]
pub(crate) enum Input {
    Cluster(Delta<ManagedCluster>),
    Namespace(Delta<Namespace>),
    /// A write ended.
    Ended {
        target: Target,
        at: Instant,
        result: Result<Answer, Failure>,
    },
}

/// What a write is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// The condition of a ManagedCluster.
    Condition(Arc<str>),
    /// The namespace of a cluster, while it is made and while it goes.
    Namespace(Arc<str>),
    /// The account of a cluster that is gone.
    Account(Arc<str>),
    /// The accounts of all clusters.
    Accounts,
}

/// One write. Each reads what it depends on before it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// Says whether the cluster is accepted.
    Condition { cluster: Arc<str>, at: Timestamp },
    /// Makes the namespace of an accepted cluster.
    MakeNamespace { cluster: Arc<str> },
    /// Reads a namespace that the watch does not show.
    LookAtNamespace { cluster: Arc<str> },
    /// Lets the agent's rights go with the namespace, once no work is left in it.
    ReleaseRights { cluster: Arc<str> },
    /// Deletes the account, if neither the ManagedCluster nor its namespace are there.
    DeleteAccount { cluster: Arc<str> },
    /// Lists the accounts: a cluster may have gone while no controller ran.
    FindAccounts { at: Timestamp },
}

/// What a write found or made.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The cluster as it is now; gone without one.
    Cluster(Option<Arc<ManagedCluster>>),
    /// The namespace as it is now; gone without one.
    Namespace(Option<Arc<Namespace>>),
    /// Works are left in the namespace.
    WorksLeft,
    /// Nothing holds the agent's rights any more.
    Released,
    /// The account is gone, or is needed again.
    Settled,
    /// The clusters that have an account.
    Accounts(Vec<Arc<str>>),
}

/// What is known of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    is_accepted: bool,
    is_leaving: bool,
    /// What its condition says, if it has one.
    is_said_accepted: Option<bool>,
}

impl Standing {
    pub(super) fn of(cluster: &ManagedCluster) -> Standing {
        let mut said = cluster.status.iter().flat_map(|status| &status.conditions);
        let condition = said.find(|condition| condition.type_ == conditions::HUB_ACCEPTED);
        Standing {
            is_accepted: cluster.spec.hub_accepts_client,
            is_leaving: cluster.metadata.deletion_timestamp.is_some(),
            is_said_accepted: condition.map(|condition| condition.status == "True"),
        }
    }

    /// Whether the condition is to say something else. Of a cluster that was never accepted nothing is said.
    pub(super) fn is_to_be_said(self) -> bool {
        !self.is_leaving && self.is_accepted != self.is_said_accepted.unwrap_or_default()
    }

    /// Whether it is to have a namespace.
    pub(super) fn needs_namespace(self) -> bool {
        self.is_accepted && !self.is_leaving
    }
}

/// What is known of a cluster's namespace.
#[derive(Clone, Debug)]
struct Home {
    version: Version,
    is_leaving: bool,
    /// Whether the watch of namespaces shows it: it has the label of a cluster's namespace.
    is_watched: bool,
    /// Not before then is the server asked about it again.
    next: Option<Instant>,
}

/// Clusters and their namespaces, as far as acceptance looks at them.
#[derive(Debug)]
pub(crate) struct State {
    known_clusters: SyncState,
    known_namespaces: SyncState,
    clusters: HashMap<Arc<str>, (Version, Standing)>,
    homes: HashMap<Arc<str>, Home>,
    /// Clusters of which something was deleted, and whose account may have no use any more.
    departed: BTreeSet<Arc<str>>,
    /// Whether the accounts are still to be listed, as after each time that all clusters or all namespaces were.
    are_accounts_unknown: bool,
    queue: Queue<Target>,
}

impl State {
    pub(crate) fn new(longest_backoff: Duration) -> State {
        State {
            known_clusters: SyncState::default(),
            known_namespaces: SyncState::default(),
            clusters: HashMap::new(),
            homes: HashMap::new(),
            departed: BTreeSet::new(),
            are_accounts_unknown: true,
            queue: Queue::new(longest_backoff),
        }
    }

    fn cluster_applied(&mut self, object: &ManagedCluster) {
        let name: Arc<str> = object.metadata.name.as_deref().unwrap_or_default().into();
        let (version, standing) = (Version::of(&object.metadata), Standing::of(object));
        let before = self.clusters.get(&name).map(|(version, _)| version);
        // The answer to a write may be older than what a watch has said since.
        if before.is_some_and(|before| version.is_before(before)) {
            return;
        }
        let is_new = before.is_none();
        self.clusters.insert(name.clone(), (version, standing));
        if is_new && standing.needs_namespace() && !is_dns_label(&name) {
            tracing::warn!(
                cluster = %name,
                "the cluster gets no namespace: its name cannot be that of a namespace, and no work can reach it; \
                 accepted: at most 63 lower-case letters, digits and dashes"
            );
        }
        self.queue.enqueue(Target::Condition(name.clone()));
        self.queue.enqueue(Target::Namespace(name));
    }

    fn cluster_gone(&mut self, name: &str) {
        let name: Arc<str> = name.into();
        self.clusters.remove(&name);
        self.departed.insert(name.clone());
        self.queue.enqueue(Target::Namespace(name.clone()));
        self.queue.enqueue(Target::Account(name));
    }

    fn namespace_applied(&mut self, object: &Namespace) {
        let name: Arc<str> = object.metadata.name.as_deref().unwrap_or_default().into();
        let version = Version::of(&object.metadata);
        let before = self.homes.get(&name);
        if before.is_some_and(|before| version.is_before(&before.version)) {
            return;
        }
        let labels = object.metadata.labels.as_ref();
        let home = Home {
            version,
            is_leaving: object.metadata.deletion_timestamp.is_some(),
            is_watched: labels.is_some_and(|labels| labels.contains_key(ocm::CLUSTER_NAME)),
            next: before.and_then(|before| before.next),
        };
        self.homes.insert(name.clone(), home);
        self.queue.enqueue(Target::Namespace(name));
    }

    fn namespace_gone(&mut self, name: &str) {
        let name: Arc<str> = name.into();
        self.homes.remove(&name);
        self.departed.insert(name.clone());
        self.queue.enqueue(Target::Namespace(name.clone()));
        self.queue.enqueue(Target::Account(name));
    }

    fn touch_all(&mut self) {
        for name in self.clusters.keys() {
            self.queue.enqueue(Target::Condition(name.clone()));
        }
        for name in self.clusters.keys().chain(self.homes.keys()) {
            self.queue.enqueue(Target::Namespace(name.clone()));
        }
        for name in &self.departed {
            self.queue.enqueue(Target::Account(name.clone()));
        }
        self.are_accounts_unknown = true;
        self.queue.enqueue(Target::Accounts);
    }

    /// Deals with the accounts of clusters that are gone.
    fn accounts_found(&mut self, names: Vec<Arc<str>>) {
        self.are_accounts_unknown = false;
        for name in names {
            if !self.clusters.contains_key(&name) && self.departed.insert(name.clone()) {
                self.queue.enqueue(Target::Account(name));
            }
        }
    }

    fn ended(&mut self, target: Target, at: Instant, result: Result<Answer, Failure>) {
        let is_unwatched = |name: &Arc<str>| self.homes.get(name).is_some_and(|home| !home.is_watched);
        let answer = match (&target, result) {
            // The watch will say so; until then it is asked less and less often.
            (_, Ok(Answer::Cluster(None)) | Err(_)) => {
                self.queue.failed(&target, at);
                return;
            }
            (Target::Namespace(name), Ok(Answer::Namespace(None))) if !is_unwatched(name) => {
                self.queue.failed(&target, at);
                return;
            }
            (_, Ok(answer)) => answer,
        };
        self.queue.succeeded(&target);
        let (Target::Condition(name) | Target::Namespace(name) | Target::Account(name)) = target else {
            if let Answer::Accounts(names) = answer {
                self.accounts_found(names);
            }
            return;
        };
        let pause = match answer {
            // Only asked for about all of them.
            Answer::Accounts(_) => return,
            Answer::WorksLeft => WORKS_PAUSE,
            Answer::Released => RELEASED_PAUSE,
            Answer::Settled => {
                self.departed.remove(&name);
                return;
            }
            Answer::Cluster(cluster) => {
                return cluster.iter().for_each(|cluster| self.cluster_applied(cluster));
            }
            Answer::Namespace(Some(namespace)) => {
                self.namespace_applied(&namespace);
                match self.homes.get(&name) {
                    Some(home) if !home.is_watched && !home.is_leaving => UNWATCHED_PAUSE,
                    _ => return,
                }
            }
            Answer::Namespace(None) => return self.namespace_gone(&name),
        };
        if let Some(home) = self.homes.get_mut(&name) {
            home.next = Some(at + pause);
        }
    }

    fn decide_namespace(&self, name: &Arc<str>, now: Instant) -> Action<Write> {
        let (home, cluster) = (self.homes.get(name), name.clone());
        let is_wanted = self.clusters.get(name);
        let is_wanted = is_wanted.is_some_and(|(_, standing)| standing.needs_namespace());
        let write = match home {
            Some(home) if home.is_leaving => Write::ReleaseRights { cluster },
            Some(home) if home.is_watched => return Action::AwaitChange,
            _ if is_wanted && is_dns_label(name) => Write::MakeNamespace { cluster },
            // The account of a cluster that is gone ends with the namespace.
            Some(_) if self.departed.contains(name) => Write::LookAtNamespace { cluster },
            _ => return Action::AwaitChange,
        };
        match home.and_then(|home| home.next).filter(|next| *next > now) {
            Some(next) => Action::RequeueAt(next),
            None => Action::Write(write),
        }
    }
}

impl Reconciler for State {
    const NAME: &'static str = "acceptance";
    type Input = Input;
    type Write = Write;

    fn handle(&mut self, input: Input) {
        match &input {
            Input::Cluster(delta) => self.known_clusters.after(delta),
            Input::Namespace(delta) => self.known_namespaces.after(delta),
            Input::Ended { .. } => {}
        }
        match input {
            Input::Cluster(Delta::Applied(object)) => self.cluster_applied(&object),
            Input::Cluster(Delta::Deleted(key)) => self.cluster_gone(&key.name),
            Input::Namespace(Delta::Applied(object)) => self.namespace_applied(&object),
            Input::Namespace(Delta::Deleted(key)) => self.namespace_gone(&key.name),
            Input::Cluster(Delta::Synced) | Input::Namespace(Delta::Synced) => self.touch_all(),
            Input::Cluster(_) | Input::Namespace(_) => {}
            Input::Ended { target, at, result } => self.ended(target, at, result),
        }
    }

    fn due(&mut self, now: Moment, room: usize) -> Vec<Write> {
        let is_known = self.known_clusters.is_synced() && self.known_namespaces.is_synced();
        let mut queue = std::mem::replace(&mut self.queue, Queue::new(Duration::ZERO));
        let writes = queue.poll(now.instant, room, |target| match target {
            Target::Condition(name) => match self.clusters.get(name) {
                Some((_, standing)) if standing.is_to_be_said() => Action::Write(Write::Condition {
                    cluster: name.clone(),
                    at: now.wall,
                }),
                _ => Action::AwaitChange,
            },
            Target::Namespace(name) if is_known => self.decide_namespace(name, now.instant),
            Target::Account(name) if is_known => {
                let is_gone = !self.clusters.contains_key(name) && !self.homes.contains_key(name);
                match is_gone && self.departed.contains(name) {
                    true => Action::Write(Write::DeleteAccount {
                        cluster: name.clone(),
                    }),
                    false => Action::AwaitChange,
                }
            }
            Target::Accounts if is_known && self.are_accounts_unknown => {
                Action::Write(Write::FindAccounts { at: now.wall })
            }
            // When all is known, everything is looked at.
            _ => Action::AwaitChange,
        });
        self.queue = queue;
        writes
    }

    fn next_due(&self) -> Option<Instant> {
        self.queue.next()
    }
}
