//! Whether a placement that is not found was deleted.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::{Api, Resource};
use portolan_api::cluster::Placement;

use super::backoff::Severity;
use super::job::Failure;
use super::publisher::{PLACEMENTS, Publisher, failure};
use crate::request;

impl Publisher {
    /// Whether a placement that is not found was deleted: while the definition of Placements is gone or going, none is
    /// found. Without permission to read the definition, a successful list of Placements proves that the kind is served.
    pub(super) async fn confirm_gone(&self) -> Result<(), Failure> {
        let definitions = Api::<CustomResourceDefinition>::all(self.client.clone());
        let name = format!("{}.{}", Placement::plural(&()), Placement::group(&()));
        let asked = (
            "get",
            "customresourcedefinitions",
            &name as &(dyn std::fmt::Display + Sync),
        );
        // Not logged: the right to read definitions is optional, and there is another way without it.
        let found = request::call(&self.slots, &self.metrics, None, asked, || {
            definitions.get_metadata_opt(&name)
        })
        .await;
        let stands = match found {
            Ok(found) => Ok(found.is_some_and(|found| found.metadata.deletion_timestamp.is_none())),
            Err(problem) if problem.failure == request::Failure::Forbidden => {
                let placements = Api::<Placement>::all(self.client.clone());
                let one = ListParams::default().limit(1);
                let listed = self
                    .call("get", PLACEMENTS, &"in all namespaces", || {
                        placements.list_metadata(&one)
                    })
                    .await;
                match listed {
                    Ok(_) => Ok(true),
                    Err(problem) if problem.failure == request::Failure::Missing => Ok(false),
                    Err(problem) => Err(failure("list Placements".to_owned(), problem)),
                }
            }
            Err(problem) => Err(failure(format!("get CustomResourceDefinition {name}"), problem)),
        };
        stands?.then_some(()).ok_or_else(|| Failure {
            severity: Severity::Error,
            operation: "tear down what a Placement left".to_owned(),
            message: format!("{name} is gone or being deleted, so that no Placement can be found"),
        })
    }
}
