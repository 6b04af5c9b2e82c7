use std::collections::{BTreeMap, BTreeSet};

use kube::Client;

use super::Problem;
use crate::work::{Kinds, Manifest, Resource};

/// Finds out about the kinds of the manifests that are not known yet. A kind that is not served is asked for again the
/// next time: its definition may be one of the manifests.
pub(crate) async fn learn<'m>(
    client: &Client,
    kinds: &mut Kinds,
    manifests: impl Iterator<Item = &'m Manifest>,
) -> Result<(), Problem> {
    let unknown: BTreeSet<String> = manifests
        .filter(|manifest| kinds.find(manifest).is_none())
        .map(Manifest::api_version)
        .collect();
    for api_version in unknown {
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
                kinds.learn(&api_version, served);
            }
            Err(Problem::NotFound(_)) => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(())
}
