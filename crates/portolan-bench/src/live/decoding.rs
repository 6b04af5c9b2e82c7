//! What it costs that objects are read one by one, each from its own text, so that one that cannot be read blinds no list.

use kube::api::ObjectList;
use kube::core::Request;
use kube::{Client, Resource};
use portolan_api::cluster::{ManagedCluster, Placement, PlacementDecision};
use portolan_api::multicluster;
use portolan_api::reading::{Received, Trimmed};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::clock::now;
use crate::figures::rounded;

/// How often each list is read in each way. The fastest counts: whatever else runs on the machine only adds.
const ROUNDS: usize = 15;

/// Reading everything that the controllers read in a cold start, decisions that come back to them included.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Decoding {
    /// A list at a time, as a client without that care does it.
    whole_ms: f64,
    /// Object by object.
    one_by_one_ms: f64,
    /// What that costs more, as a share of the CPU of a cold start.
    share_of_cold_start: f64,
}

/// Measures with the objects that are on the server now.
pub(super) async fn measure(client: &Client, cold_start_cpu_seconds: f64) -> anyhow::Result<Decoding> {
    let (mut whole, mut one_by_one) = (0.0, 0.0);
    for (of_list, of_objects) in [
        compare::<ManagedCluster>(client).await?,
        compare::<Placement>(client).await?,
        compare::<PlacementDecision>(client).await?,
        compare::<multicluster::PlacementDecision>(client).await?,
    ] {
        whole += of_list;
        one_by_one += of_objects;
    }
    Ok(Decoding {
        whole_ms: rounded(whole * 1e3),
        one_by_one_ms: rounded(one_by_one * 1e3),
        share_of_cold_start: rounded((one_by_one - whole).max(0.0) / cold_start_cpu_seconds),
    })
}

/// Seconds to read all objects of a kind as one list, and object by object.
async fn compare<K>(client: &Client) -> anyhow::Result<(f64, f64)>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + 'static,
{
    let request = Request::new(K::url_path(&(), None)).list(&Default::default())?;
    let text = client.request_text(request).await?;
    let (mut whole, mut one_by_one) = (f64::INFINITY, f64::INFINITY);
    // In turns, so that both have the same machine.
    for _ in 0..ROUNDS {
        whole = whole.min(seconds::<ObjectList<Trimmed<K>>>(&text)?);
        one_by_one = one_by_one.min(seconds::<ObjectList<Received<K>>>(&text)?);
    }
    Ok((whole, one_by_one))
}

fn seconds<L: DeserializeOwned>(text: &str) -> serde_json::Result<f64> {
    let started = now();
    let list: L = serde_json::from_str(text)?;
    let taken = started.elapsed().as_secs_f64();
    drop(list);
    Ok(taken)
}
