//! Verdicts of CEL selectors, one bit a cluster, evaluated once per change of the cluster.

use std::sync::Arc;

use hashbrown::HashMap;
use portolan_cel::{Budget, EvalError, Program, Value};

use super::bits::{ClusterId, Clusters};

/// The expressions of one predicate: all must be true, and they share one budget. That is why verdicts are kept per
/// list and not per expression.
pub(crate) type Expressions = Arc<[String]>;

#[derive(Debug, Default)]
pub(crate) struct CelVerdicts {
    units: HashMap<Expressions, Unit>,
}

#[derive(Debug)]
struct Unit {
    programs: Arc<[Program]>,
    users: usize,
    uses_scores: bool,
    known: Clusters,
    matched: Clusters,
}

/// Why an expression list did not match a cluster.
#[derive(Debug)]
pub(crate) struct CelRejection {
    /// Position of the expression that did not hold.
    pub(crate) expression: usize,
    /// None when it was false, else what went wrong.
    pub(crate) error: Option<EvalError>,
}

impl CelVerdicts {
    pub(crate) fn retain(&mut self, expressions: &Expressions, programs: &Arc<[Program]>) {
        let unit = self.units.entry(expressions.clone()).or_insert_with(|| Unit {
            programs: programs.clone(),
            users: 0,
            uses_scores: programs.iter().any(Program::uses_scores),
            known: Clusters::default(),
            matched: Clusters::default(),
        });
        unit.users += 1;
    }

    pub(crate) fn release(&mut self, expressions: &Expressions) {
        if let Some(unit) = self.units.get_mut(expressions) {
            unit.users -= 1;
            if unit.users == 0 {
                self.units.remove(expressions);
            }
        }
    }

    /// Forgets what is known of a cluster that changed.
    pub(crate) fn forget_cluster(&mut self, cluster: ClusterId) {
        self.units
            .values_mut()
            .for_each(|unit| unit.known.remove(cluster));
    }

    /// Forgets verdicts that looked at the scores of a cluster.
    pub(crate) fn forget_scores(&mut self, cluster: ClusterId) {
        self.units
            .values_mut()
            .filter(|unit| unit.uses_scores)
            .for_each(|unit| unit.known.remove(cluster));
    }

    /// Evaluates the clusters of `wanted` that have no verdict yet.
    pub(crate) fn ensure(
        &mut self,
        expressions: &Expressions,
        wanted: &Clusters,
        evaluate: impl Fn(&[Program], ClusterId) -> bool,
    ) {
        let Some(unit) = self.units.get_mut(expressions) else {
            return;
        };
        let mut missing = wanted.clone();
        missing.subtract(&unit.known);
        for cluster in missing.iter() {
            unit.matched.set(cluster, evaluate(&unit.programs, cluster));
            unit.known.insert(cluster);
        }
    }

    /// Narrows `set` to the matching clusters. Every cluster of `set` must have a verdict.
    pub(crate) fn narrow(&self, expressions: &Expressions, set: &mut Clusters) {
        match self.units.get(expressions) {
            Some(unit) => set.intersect_with(&unit.matched),
            None => set.clear(),
        }
    }
}

/// Runs the expressions in order against one cluster's JSON; the first that does not hold decides.
pub(crate) fn run(
    programs: &[Program],
    cluster_json: &str,
    scores: &dyn portolan_cel::Scores,
) -> Result<(), CelRejection> {
    let json = serde_json::from_str(cluster_json).unwrap_or(serde_json::Value::Null);
    let cluster = Value::from_json(&json);
    let mut budget = Budget::per_cluster();
    for (expression, program) in programs.iter().enumerate() {
        match program.evaluate(&cluster, scores, &mut budget) {
            Ok(true) => {}
            Ok(false) => {
                return Err(CelRejection {
                    expression,
                    error: None,
                });
            }
            Err(error) => {
                return Err(CelRejection {
                    expression,
                    error: Some(error),
                });
            }
        }
    }
    Ok(())
}
