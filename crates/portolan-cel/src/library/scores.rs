//! `managedCluster.scores(name)`: the scores another component published for this cluster.

use std::sync::Arc;

use super::{Function, Outcome, STRING, member, mismatch};
use crate::context::Context;
use crate::error::{EvalError, cut};
use crate::types::Shape;
use crate::value::{Key, Map, Val};

pub(super) const FUNCTIONS: &[Function] = &[member(
    "scores",
    &[Shape::Any, STRING],
    Shape::List(&Shape::Any),
    scores,
)];

fn scores(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Map(receiver), Val::String(name)] = arguments else {
        return Err(mismatch("scores", arguments));
    };
    // Only the scores of the cluster itself are at hand.
    let cluster = context.variables.first().copied().flatten();
    if !matches!(cluster, Some(Val::Map(cluster)) if Arc::ptr_eq(cluster, receiver)) {
        return Err(EvalError::invalid("scores", "receiver", "must be managedCluster"));
    }
    let found = context.scores.scores(name);
    let found = found.ok_or_else(|| EvalError::ScoresNotFound { name: cut(name) })?;
    context.meter.charge_elements(found.len())?;
    let (name_key, value_key): (Arc<str>, Arc<str>) = ("name".into(), "value".into());
    let items = found.into_iter().map(|(name, value)| {
        let entries = vec![
            (Key::String(Arc::clone(&name_key)), Val::string(name)),
            (Key::String(Arc::clone(&value_key)), Val::Int(value)),
        ];
        Val::Map(Arc::new(Map::last_wins(entries)))
    });
    Ok(Val::list(items.collect()))
}
