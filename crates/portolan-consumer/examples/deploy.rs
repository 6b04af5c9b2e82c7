//! Puts one Work into the namespace of every cluster of a decision: `deploy NAMESPACE DECISION-KEY WORK.json`.

use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use portolan_api::multicluster::Work;
use portolan_consumer::{Change, Cluster, DecisionId, DecisionStream, Discovery, Options};

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [namespace, key, file] = &args[..] else {
        return Err("usage: deploy NAMESPACE DECISION-KEY WORK.json".into());
    };
    let work = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    deploy(Client::try_default().await?, namespace, key, work).await
}

/// Runs until a write fails; the next run goes on where this one ended.
pub(crate) async fn deploy(client: Client, namespace: &str, key: &str, mut work: Work) -> Outcome {
    let (label, name) = ("example.com/deployed-for", work.name_any());
    work.labels_mut().insert(label.to_owned(), key.to_owned());
    let mine = ListParams::default().labels(&format!("{label}={key}"));
    let deployed = Api::<Work>::all(client.clone()).list(&mine).await?;
    let clusters = deployed
        .iter()
        .filter(|work| work.name_any() == name) // others may deploy along the same decision
        .map(|work| Cluster::new(namespace, work.namespace().unwrap_or_default()));

    let options = Options::new(Discovery::DecisionKey(key.to_owned()));
    let mut stream = DecisionStream::namespaced(client.clone(), namespace, options);
    stream.resume(DecisionId::keyed(namespace, key), clusters);
    let works = |cluster: &Cluster| Api::<Work>::namespaced(client.clone(), &cluster.name);
    while let Some(update) = stream.next().await {
        let Ok(update) = update else { continue }; // the watch was interrupted and goes on by itself
        for change in update.changes {
            match change {
                Change::Added(chosen) => {
                    let (works, how) = (works(&chosen.cluster), PatchParams::apply("deploy").force());
                    works.patch(&name, &how, &Patch::Apply(&work)).await?;
                }
                Change::Removed(cluster) => {
                    works(&cluster).delete(&name, &DeleteParams::default()).await?;
                }
                Change::Reordered(_) | Change::Emptied | Change::Gone => {}
            }
        }
    }
    Ok(())
}
