//! An agent with the roles that OCM gives to its own: they have no right to Works and to the records of Works.

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use portolan_agent::Agent;
use serde_json::json;
use tower::BoxError;

use crate::world::World;

/// A client that is refused what has this resource in its path.
fn without(client: Client, resource: &'static str) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, path) = (client.clone(), request.uri().path().to_owned());
        async move {
            if path.split('/').any(|part| part == resource) {
                let message = format!("{resource} is forbidden");
                let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "message": message, "reason": "Forbidden", "code": 403 });
                let answer = Response::builder().status(403);
                return Ok(answer.body(Body::from(status.to_string().into_bytes()))?);
            }
            client.send(request).await.map_err(BoxError::from)
        }
    });
    Client::new(service, namespace)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_without_rights_to_works_applies_and_removes_manifest_works() {
    let world = World::new().await;
    let hub = without(world.hub.client(), "works");
    let spoke = without(world.spoke.client(), "appliedworks");
    let agent = Agent::start(hub, spoke, world.settings());
    let (kept, withdrawn) = (world.config_map("role-a", "0"), world.config_map("role-b", "0"));
    world.create_work("web", &[kept.clone(), withdrawn]).await;
    world
        .until_values("role-", &[("role-a", "0"), ("role-b", "0")])
        .await;
    world.set_manifests("web", &[kept]).await;
    world.until_values("role-", &[("role-a", "0")]).await;
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("role-", &[]).await;
    agent.stop().await;
}
