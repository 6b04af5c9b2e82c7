//! Carries out what the state decided.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DeleteParams, Patch, Preconditions};
use portolan_api::multicluster::{ClusterProfile, PlacementDecision, Work};
use portolan_runtime::watch::{Subscriber, Watch};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::message::{Input, Outcome, Write};
use super::template::Content;
use crate::events::Events;
use crate::reconcile::{RequestContext, creating, patching};

const WORKS: &str = "works";

/// Writes, and the watches that run because of templates.
#[derive(Clone)]
pub(super) struct Executor {
    pub(super) client: Client,
    pub(super) restore_grace: Duration,
    pub(super) context: RequestContext,
    pub(super) events: Events,
    /// Where watches report; closed when the syncer ends.
    pub(super) inputs: mpsc::WeakSender<Input>,
    pub(super) watches: Watches,
}

/// Watches by namespace; that of profiles has none. They end with the last clone.
#[derive(Clone, Default)]
pub(super) struct Watches(Arc<Mutex<HashMap<Option<String>, Running>>>);

struct Running(JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Watches {
    fn put(&self, namespace: Option<String>, watch: Option<JoinHandle<()>>) {
        let mut watches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match watch {
            Some(watch) => drop(watches.insert(namespace, Running(watch))),
            None => drop(watches.remove(&namespace)),
        }
    }

    /// Ends all of them.
    pub(super) fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Executor {
    /// Carries one write out and says how it ended.
    pub(super) async fn carry_out(self, write: Write) -> Input {
        let item = write.item();
        let outcome = match write {
            Write::WatchProfiles => self.watch_profiles(),
            Write::WatchDecisions { namespace, watch } => self.watch_decisions(namespace, watch),
            Write::EndDecisions { namespace } => {
                self.watches.put(Some(namespace), None);
                Outcome::Done
            }
            write => self.send(write).await,
        };
        Input::Ended {
            at: tokio::time::Instant::now(),
            item,
            outcome,
        }
    }

    fn watch_profiles(&self) -> Outcome {
        if let Some(sender) = self.inputs.upgrade() {
            let subscriber = Subscriber::new(sender, Input::Profile);
            let profiles = Watch::<ClusterProfile>::new(self.client.clone(), vec![subscriber])
                .logging(&self.context.log);
            let watch = self.context.tasks.spawn(profiles.name(), profiles.run());
            self.watches.put(None, Some(watch));
        }
        Outcome::Done
    }

    fn watch_decisions(&self, namespace: String, watch: u64) -> Outcome {
        if let Some(sender) = self.inputs.upgrade() {
            let home = namespace.clone();
            let subscriber = Subscriber::new(sender, move |delta| Input::Slice {
                namespace: home.clone(),
                watch,
                delta,
            });
            let decisions =
                Watch::<PlacementDecision>::namespaced(self.client.clone(), &namespace, vec![subscriber])
                    .guarded(self.client.clone(), self.restore_grace)
                    .logging(&self.context.log);
            let watch = self.context.tasks.spawn(decisions.name(), decisions.run());
            self.watches.put(Some(namespace), Some(watch));
        }
        Outcome::Done
    }

    async fn send(&self, write: Write) -> Outcome {
        match write {
            Write::Create { target, content } => {
                let work = match serde_json::from_value::<Work>(content.work(&target.cluster)) {
                    Ok(work) => work,
                    Err(error) => {
                        tracing::error!(%error, "cannot read a Work that was built from a template");
                        return Outcome::Failed(crate::reconcile::Failure::Invalid);
                    }
                };
                let api = self.api(&target.cluster);
                let sent = async { api.create(&creating(), &work).await };
                self.shown("create", &target.cluster, &content, sent).await
            }
            Write::Update {
                target,
                version,
                content,
            } => {
                let (api, patch) = (
                    self.api(&target.cluster),
                    Patch::Merge(content.patch(Some(&version))),
                );
                let sent = async { api.patch(content.name(), &patching(), &patch).await };
                self.shown("patch", &target.cluster, &content, sent).await
            }
            Write::Delete {
                name,
                target,
                version,
            } => {
                // A work that changed since is looked at again before it goes.
                let unchanged = DeleteParams::default().preconditions(Preconditions {
                    resource_version: Some(version.as_str().to_owned()),
                    uid: None,
                });
                let api = self.api(&target.cluster);
                let sent = async {
                    match api.delete(&name, &unchanged).await {
                        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                        other => other.map(drop),
                    }
                };
                let object = format!("{}/{name}", target.cluster);
                match self.context.request("delete", WORKS, object, sent).await {
                    Ok(()) => Outcome::Removed,
                    Err(failure) => Outcome::Failed(failure),
                }
            }
            Write::Status {
                template: (namespace, name),
                version,
                conditions,
                notes,
            } => {
                let patch = json!({
                    "metadata": { "resourceVersion": version.as_str() },
                    "status": { "conditions": conditions },
                });
                let (api, patch) = (self.api(&namespace), Patch::Merge(patch));
                let sent = async { api.patch_status(&name, &patching(), &patch).await };
                let object = format!("{namespace}/{name}");
                match self.context.request("patch", "works/status", object, sent).await {
                    Ok(_) => {
                        for (object, note) in notes {
                            self.events.tell(&object, vec![note]);
                        }
                        Outcome::Done
                    }
                    Err(failure) => Outcome::Failed(failure),
                }
            }
            Write::WatchProfiles | Write::WatchDecisions { .. } | Write::EndDecisions { .. } => Outcome::Done,
        }
    }

    fn api(&self, namespace: &str) -> Api<Work> {
        Api::namespaced(self.client.clone(), namespace)
    }

    async fn shown(
        &self,
        verb: &'static str,
        namespace: &str,
        content: &Arc<Content>,
        sent: impl Future<Output = kube::Result<Work>>,
    ) -> Outcome {
        let object = format!("{namespace}/{}", content.name());
        match self.context.request(verb, WORKS, object, sent).await {
            Ok(work) => Outcome::Shown(Arc::new(work), content.clone()),
            Err(failure) => Outcome::Failed(failure),
        }
    }
}
