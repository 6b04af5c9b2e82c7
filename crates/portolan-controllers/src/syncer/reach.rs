//! Which ClusterProfiles a decision may name for works.
//!
//! A decision is an object that anybody may write who has the right to in its namespace, and the reference in it names any
//! namespace. Without a limit the right to create Works and PlacementDecisions in one namespace would be the right to run
//! anything on every cluster of the hub, past every binding.

use std::collections::BTreeSet;

use crate::settings::Settings;

/// Stands for every namespace.
const ALL: &str = "*";

/// The namespaces whose profiles the decisions of every namespace may name.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    shared: BTreeSet<String>,
}

impl Reach {
    pub(super) fn of(settings: &Settings) -> Reach {
        let shared = settings.shared_profiles.iter().chain(&settings.profile_namespace);
        Reach {
            shared: shared.cloned().collect(),
        }
    }

    /// Whether a decision in the namespace `home` may name the profile `name` of each of the namespaces; or why not.
    pub(super) fn allows<'a>(
        &self,
        home: &str,
        name: &str,
        namespaces: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), String> {
        let is_out = |namespace: &&String| {
            *namespace != home && !self.shared.contains(*namespace) && !self.shared.contains(ALL)
        };
        match namespaces.into_iter().find(is_out) {
            None => Ok(()),
            Some(namespace) => Err(format!(
                "the ClusterProfile {namespace}/{name} is out of reach for decisions in {home}; accepted: a ClusterProfile in \
                 {home}, or --shared-profiles={namespace} given to the controller"
            )),
        }
    }
}
