use std::collections::{BTreeMap, BTreeSet};

use kube::Client;

use super::Problem;
use crate::work::Resource;

/// What a member cluster said about kinds.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// The kinds of each `apiVersion` that is served.
    pub(crate) kinds: Vec<(String, BTreeMap<String, Resource>)>,
    /// Why it did not answer for one of them, if it did not.
    pub(crate) problem: Option<Problem>,
}

/// Which kinds of these `apiVersion`s are served. One that is not served is left out: it is asked for again the next
/// time, since its definition may be one of the manifests. One that gets no answer keeps nobody from the others: a server
/// behind the member cluster's may be down.
pub(crate) async fn learn(client: &Client, api_versions: BTreeSet<String>) -> Learned {
    let mut learned = Learned::default();
    for api_version in api_versions {
        let answer = match api_version.contains('/') {
            true => client.list_api_group_resources(&api_version).await,
            false => client.list_core_api_resources(&api_version).await,
        };
        match answer.map_err(|error| Problem::of(&error)) {
            Ok(list) => {
                let served: BTreeMap<String, Resource> = list
                    .resources
                    .into_iter()
                    // Subresources are listed too.
                    .filter(|resource| !resource.name.contains('/'))
                    .map(|resource| {
                        let place = Resource {
                            plural: resource.name,
                            namespaced: resource.namespaced,
                        };
                        (resource.kind, place)
                    })
                    .collect();
                learned.kinds.push((api_version, served));
            }
            Err(Problem::NotFound(_)) => {}
            Err(problem) => learned.problem = Some(problem),
        }
    }
    learned
}
