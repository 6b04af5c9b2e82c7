//! Verdicts of CEL selectors, one bit a cluster, evaluated once per change of the cluster.

use std::sync::Arc;

use hashbrown::HashMap;
use portolan_cel::{Budget, EvalError, Program, Value};

use super::bits::{ClusterId, Clusters};
use super::document::Document;

/// The expressions of one predicate: all must be true, and they share one budget. That is why verdicts are kept per
/// list and not per expression.
pub(crate) type Expressions = Arc<[String]>;

#[derive(Debug, Default)]
pub(crate) struct CelVerdicts {
    units: HashMap<Expressions, Unit>,
    /// The cluster that was evaluated last: after a change every expression looks at the same one.
    parsed: Parsed,
}

/// A cluster's document, ready to be evaluated.
pub(crate) type Parsed = Option<(ClusterId, Value)>;

#[derive(Debug)]
struct Unit {
    programs: Arc<[Program]>,
    users: usize,
    uses_scores: bool,
    known: Clusters,
    matched: Clusters,
    /// Of those that do not match, the clusters for which an expression gave no answer.
    failed: Clusters,
    /// What known verdicts cost that cost more than [`LEAST_COST`].
    costs: HashMap<ClusterId, u64>,
}

/// What a verdict costs at least. To evaluate the smallest expression takes about as long as this many units, and only
/// verdicts that cost more need to be remembered.
pub(crate) const LEAST_COST: u64 = 100;

/// A verdict on one cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    pub(crate) verdict: CelVerdict,
    /// Units, at least [`LEAST_COST`].
    pub(crate) cost: u64,
    /// Whether the expressions were evaluated for it just now.
    pub(crate) is_new: bool,
}

/// How a list of expressions went with one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CelVerdict {
    /// All are true.
    Matches,
    /// One is false.
    Differs,
    /// One gave no answer: an error, or no boolean.
    Failed,
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
            failed: Clusters::default(),
            costs: HashMap::new(),
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
        self.parsed.take_if(|(known, _)| *known == cluster);
        self.units.values_mut().for_each(|unit| unit.forget(cluster));
    }

    /// Forgets verdicts that looked at the scores of a cluster.
    pub(crate) fn forget_scores(&mut self, cluster: ClusterId) {
        self.units
            .values_mut()
            .filter(|unit| unit.uses_scores)
            .for_each(|unit| unit.forget(cluster));
    }

    /// What the verdicts on `wanted` cost at least, and the clusters whose verdict is not known: for those the least cost
    /// is counted.
    pub(crate) fn cost(&self, expressions: &Expressions, wanted: &Clusters) -> (u64, Clusters) {
        let Some(unit) = self.units.get(expressions) else {
            return (0, Clusters::default());
        };
        let mut missing = wanted.clone();
        missing.subtract(&unit.known);
        let costly = unit
            .costs
            .iter()
            .filter(|(cluster, _)| wanted.contains(**cluster));
        let surplus: u64 = costly.map(|(_, cost)| cost - LEAST_COST).sum();
        (wanted.len() as u64 * LEAST_COST + surplus, missing)
    }

    /// The verdict on one cluster, evaluated if there is none yet. `evaluate` tells the units that were spent, too.
    pub(crate) fn verdict(
        &mut self,
        expressions: &Expressions,
        cluster: ClusterId,
        evaluate: impl Fn(&[Program], ClusterId, &mut Parsed) -> (CelVerdict, u64),
    ) -> Judged {
        let Some(unit) = self.units.get_mut(expressions) else {
            return Judged {
                verdict: CelVerdict::Differs,
                cost: LEAST_COST,
                is_new: false,
            };
        };
        let is_new = !unit.known.contains(cluster);
        if is_new {
            let (verdict, units) = evaluate(&unit.programs, cluster, &mut self.parsed);
            unit.learn(cluster, verdict, units);
        }
        let verdict = match (unit.matched.contains(cluster), unit.failed.contains(cluster)) {
            (true, _) => CelVerdict::Matches,
            (_, true) => CelVerdict::Failed,
            _ => CelVerdict::Differs,
        };
        Judged {
            verdict,
            cost: unit.costs.get(&cluster).copied().unwrap_or(LEAST_COST),
            is_new,
        }
    }

    /// A cluster of `set` for which the expressions did not fail, or else any, and whether they failed for every cluster
    /// of it. Every cluster of `set` must have a verdict.
    pub(crate) fn witness(&self, expressions: &Expressions, set: &Clusters) -> (Option<ClusterId>, bool) {
        let Some(unit) = self.units.get(expressions) else {
            return (None, false);
        };
        let answered = set.iter().find(|cluster| !unit.failed.contains(*cluster));
        match answered {
            Some(cluster) => (Some(cluster), false),
            None => {
                let any = set.iter().next();
                (any, any.is_some())
            }
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

impl Unit {
    fn learn(&mut self, cluster: ClusterId, verdict: CelVerdict, units: u64) {
        self.matched.set(cluster, verdict == CelVerdict::Matches);
        self.failed.set(cluster, verdict == CelVerdict::Failed);
        self.known.insert(cluster);
        if units > LEAST_COST {
            self.costs.insert(cluster, units);
        }
    }

    fn forget(&mut self, cluster: ClusterId) {
        self.known.remove(cluster);
        self.costs.remove(&cluster);
    }
}

/// A cluster's document as expressions see it.
pub(crate) fn parse(document: &Document) -> Value {
    let json = serde_json::from_slice(&document.json()).unwrap_or(serde_json::Value::Null);
    Value::from_json(&json)
}

/// Runs the expressions in order against one cluster; the first that does not hold decides. They share `budget`, which is
/// a fresh one.
pub(crate) fn run(
    programs: &[Program],
    cluster: &Value,
    scores: &dyn portolan_cel::Scores,
    budget: &mut Budget,
) -> Result<(), CelRejection> {
    for (expression, program) in programs.iter().enumerate() {
        match program.evaluate(cluster, scores, budget) {
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
