use std::collections::{BTreeMap, BTreeSet};

use kube::Client;

use super::Problem;
use crate::work::Resource;

/// Which kinds of these `apiVersion`s are served. One that is not served is left out: it is asked for again the next
/// time, since its definition may be one of the manifests.
pub(crate) async fn learn(
    client: &Client,
    api_versions: BTreeSet<String>,
) -> Result<Vec<(String, BTreeMap<String, Resource>)>, Problem> {
    let mut learned = Vec::new();
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
                learned.push((api_version, served));
            }
            Err(Problem::NotFound(_)) => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(learned)
}
