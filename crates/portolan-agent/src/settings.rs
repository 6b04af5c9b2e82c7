//! The settings of an agent.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Clock;

/// What a user can set, in the words of the command line.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of the cluster: of its ManagedCluster, and of its namespace on the hub.
    pub cluster: String,
    /// Where the time comes from.
    pub clock: Clock,
    /// Address of the hub, as it is written in the kubeconfig: tells the hub from others that leave records on the same member
    /// cluster.
    pub hub_server: String,
    /// Takes the place of the address in that; empty for none. A hub that moves keeps its records by its former address.
    pub hub_id: String,
    /// Id of the agent in its records; empty for the hash that tells the hub from others.
    pub agent_id: String,
    /// Which process this is, for people who find two agents for one cluster: a host and a process id.
    pub identity: String,
    /// Whether the agent renews the Lease of the cluster and reports what the cluster offers. Another agent may do so.
    pub heartbeat: bool,
    /// Longest wait between two looks at the objects of a work. After a change they are looked at more often.
    pub poll: Duration,
    /// How long a watch of the hub lasts before it is asked for anew: one that hangs without a word is noticed then.
    pub watch: Duration,
    /// Longest wait between two attempts after errors.
    pub longest_backoff: Duration,
    /// How long a deletion of a work must have been heard of before anything is removed for it: a server that ends the
    /// whole kind may take a moment to say so.
    pub deletion_patience: Duration,
    /// How long the record of a work that is not on the hub, and what it owns, is kept; `None` for ever.
    pub eviction_grace: Option<Duration>,
    /// What the cluster offers, where its nodes cannot be asked: total resources by name.
    pub capacity: BTreeMap<String, String>,
    /// What of it workloads may use. Resources that are missing here count in full.
    pub allocatable: BTreeMap<String, String>,
    /// Claims of the cluster beside those that it has as objects.
    pub claims: BTreeMap<String, String>,
}

impl Settings {
    /// The defaults, for a cluster of this name.
    pub fn new(cluster: &str, clock: Clock) -> Settings {
        Settings {
            cluster: cluster.to_owned(),
            clock,
            hub_server: String::new(),
            hub_id: String::new(),
            agent_id: String::new(),
            identity: String::new(),
            heartbeat: true,
            poll: Duration::from_secs(10),
            watch: Duration::from_secs(60),
            longest_backoff: Duration::from_secs(30),
            deletion_patience: Duration::from_secs(1),
            eviction_grace: None,
            capacity: BTreeMap::new(),
            allocatable: BTreeMap::new(),
            claims: BTreeMap::new(),
        }
    }

    /// The text that tells the hub from others.
    pub(crate) fn hub(&self) -> &str {
        match self.hub_id.as_str() {
            "" => &self.hub_server,
            id => id,
        }
    }
}
