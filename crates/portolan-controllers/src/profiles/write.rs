//! Carries out what the state decided.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use kube::Client;
use kube::api::{Api, DeleteParams, Patch, Preconditions};
use portolan_api::multicluster::ClusterProfile;

use super::content::Content;
use super::message::{Input, Key, Outcome, Removal, Write};
use super::references::Asked;
use crate::reconcile::{Failure, RequestContext, creating, patching};

const PROFILES: &str = "clusterprofiles";

/// Sends the requests of one write and says how it ended. `shared` says that slices of all namespaces may refer to a
/// profile.
pub(super) async fn carry_out(client: Client, context: RequestContext, shared: bool, write: Write) -> Input {
    let sender = Sender { client, context };
    let endings = match write {
        Write::Create { key, content } => {
            let outcome = sender.create(&key, &content).await;
            vec![(key, outcome)]
        }
        Write::Metadata {
            key,
            version,
            content,
        } => {
            let (api, patch) = (sender.api(&key.0), Patch::Merge(content.metadata_patch(&version)));
            let sent = async { api.patch(&key.1, &patching(), &patch).await };
            let outcome = match sender.request("patch", PROFILES, &key, sent).await {
                Ok(profile) => Outcome::Shown(Arc::new(profile)),
                Err(failure) => Outcome::Failed(failure),
            };
            vec![(key, outcome)]
        }
        Write::Status { key, content } => {
            let outcome = sender.status(&key, &content).await;
            vec![(key, outcome)]
        }
        Write::Remove { namespace, profiles } => sender.remove(&namespace, profiles, shared).await,
    };
    Input::Ended {
        at: tokio::time::Instant::now(),
        endings,
    }
}

/// A profile as people write it.
struct Named<'a>(&'a Key);

impl fmt::Display for Named<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.0.0, self.0.1)
    }
}

struct Sender {
    client: Client,
    context: RequestContext,
}

impl Sender {
    fn api(&self, namespace: &str) -> Api<ClusterProfile> {
        Api::namespaced(self.client.clone(), namespace)
    }

    async fn request<T>(
        &self,
        verb: &'static str,
        resource: &'static str,
        key: &Key,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Failure> {
        self.context.request(verb, resource, Named(key), request).await
    }

    async fn create(&self, key: &Key, content: &Content) -> Outcome {
        let profile = content.profile(&key.0);
        let api = self.api(&key.0);
        let sent = async { api.create(&creating(), &profile).await };
        match self.request("create", PROFILES, key, sent).await {
            Ok(created) => self.patch_status(key, content, created).await,
            Err(failure) => Outcome::Failed(failure),
        }
    }

    /// Reads the profile first: conditions of others have to stay, and are not kept in memory.
    async fn status(&self, key: &Key, content: &Content) -> Outcome {
        let sent = async { self.api(&key.0).get(&key.1).await };
        match self.request("get", PROFILES, key, sent).await {
            Ok(profile) => self.patch_status(key, content, profile).await,
            Err(failure) => Outcome::Failed(failure),
        }
    }

    async fn patch_status(&self, key: &Key, content: &Content, profile: ClusterProfile) -> Outcome {
        let Some(patch) = content.status_patch(&profile) else {
            return Outcome::Shown(Arc::new(profile));
        };
        let (api, patch) = (self.api(&key.0), Patch::Merge(patch));
        let sent = async { api.patch_status(&key.1, &patching(), &patch).await };
        match self.request("patch", "clusterprofiles/status", key, sent).await {
            Ok(profile) => Outcome::Shown(Arc::new(profile)),
            Err(failure) => Outcome::Begun(Arc::new(profile), failure),
        }
    }

    async fn remove(
        &self,
        namespace: &Arc<str>,
        profiles: Vec<Removal>,
        shared: bool,
    ) -> Vec<(Key, Outcome)> {
        let asked = profiles.iter().filter(|profile| !profile.unconditional);
        let asked = Asked {
            namespace,
            names: asked.map(|profile| &*profile.name).collect(),
            from_everywhere: shared,
        };
        let referenced = match asked.names.is_empty() {
            true => Ok(BTreeSet::new()),
            false => asked.referenced(&self.client, &self.context).await,
        };
        let mut endings = Vec::with_capacity(profiles.len());
        for profile in profiles {
            let key: Key = (namespace.clone(), profile.name.clone());
            let outcome = match &referenced {
                Ok(names) if !profile.unconditional && names.contains(&*key.1) => Outcome::Held,
                Err(failure) if !profile.unconditional => Outcome::Failed(*failure),
                _ => self.delete(&key, &profile).await,
            };
            endings.push((key, outcome));
        }
        endings
    }

    async fn delete(&self, key: &Key, profile: &Removal) -> Outcome {
        if profile.unconditional {
            tracing::warn!(
                namespace = &*key.0,
                name = &*key.1,
                "deleting the ClusterProfile of a cluster that is gone; decision slices may still refer to the profile"
            );
        }
        // A profile that changed since is looked at again before it goes.
        let unchanged = DeleteParams::default().preconditions(Preconditions {
            resource_version: Some(profile.version.as_str().to_owned()),
            uid: None,
        });
        let sent = async {
            match self.api(&key.0).delete(&key.1, &unchanged).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                other => other.map(drop),
            }
        };
        match self.request("delete", PROFILES, key, sent).await {
            Ok(()) => Outcome::Removed,
            Err(failure) => Outcome::Failed(failure),
        }
    }
}
