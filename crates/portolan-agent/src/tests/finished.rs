//! What a work that is over costs.

use serde_json::json;

use super::fixture::{World, run};
use crate::work::WorkKind;
use crate::works::Outcome;

#[test]
fn an_object_that_is_finished_and_stays_is_looked_at_less_and_less_often() {
    run(async {
        let world = World::new().await;
        let complete = json!([{
            "resourceIdentifier": { "resource": "configmaps", "namespace": "default", "name": "a" },
            "conditionRules": [{
                "type": "CEL", "condition": "Complete", "celExpressions": ["true"],
            }],
        }]);
        world.put_with("once", &["a"], complete).await;
        let mut agent = world.agent();
        agent.look().await;
        let mut outcomes = Vec::new();
        for _ in 0..4 {
            agent.list(WorkKind::ManifestWork).await;
            outcomes.push(agent.pass("once").await);
        }
        let is_complete = agent
            .known("once")
            .status
            .conditions
            .iter()
            .any(|said| said.type_ == "Complete");
        assert!(is_complete, "{:?}", agent.known("once").status);
        // The first of them may still find something new.
        assert_eq!(outcomes[1..], [Outcome::Quiet; 3]);
    });
}
