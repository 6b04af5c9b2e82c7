//! One decision: filter, score, select, group.

use jiff::Timestamp;

use crate::filter::taint_toleration::earliest;
use crate::filter::{predicate, taint_toleration};
use crate::fleet::{ClusterId, Clusters, Fleet, Spending};
use crate::group;
use crate::last_decision::LastDecision;
use crate::mistakes;
use crate::outcome::{Outcome, PrioritizerScores};
use crate::placement::{Compiled, Misconfigured};
use crate::prioritize::Input;
use crate::sabotage::{Rule, sabotaged};
use crate::select::{self, Ranked};
use crate::status::Status;
use crate::warning::{self, Warning};

/// Everything an outcome depends on besides the fleet.
pub(crate) struct Question<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) cluster_sets: &'a [String],
    pub(crate) compiled: &'a Result<Compiled, Misconfigured>,
    /// What the placement decided last.
    pub(crate) prior: &'a LastDecision,
    /// What of this placement is in the fleet's counts: the prior, or an outcome that is being written.
    pub(crate) counted: &'a LastDecision,
    /// Whether this is the first look since a start. What others decided is then known all at once, as it was not when
    /// the decision was made, and that is no reason to change it.
    pub(crate) resumed: bool,
    pub(crate) now: Timestamp,
}

/// Brings what `evaluate` reads up to date, and tells what the expressions cost. Idempotent.
pub(crate) fn prepare(fleet: &mut Fleet, question: &Question<'_>) -> Spending {
    fleet.settle();
    let predicates = match question.compiled {
        Ok(compiled) => &compiled.predicates,
        Err(Misconfigured {
            predicates: Some(predicates),
            ..
        }) => predicates,
        Err(_) => return Spending::default(),
    };
    if predicates.iter().all(|predicate| predicate.programs.is_empty()) {
        return fleet.spending();
    }
    let (_, candidates) = fleet.candidates(question.namespace, question.cluster_sets);
    predicate::prepare(fleet, predicates, &candidates)
}

/// Decides. `spending` is what `prepare` told.
pub(crate) fn evaluate(fleet: &Fleet, question: &Question<'_>, spending: Spending) -> Outcome {
    let (eligibility, candidates) = fleet.candidates(question.namespace, question.cluster_sets);
    let mut outcome = Outcome {
        warnings: warning::of_sets(fleet, question.namespace, question.cluster_sets, &eligibility),
        eligibility,
        candidates,
        spending,
        ..Outcome::default()
    };
    let compiled = match question.compiled {
        Ok(compiled) => compiled,
        Err(mistake) => return misconfigured(fleet, outcome, mistake, question),
    };
    if let Some(problem) = outcome
        .eligibility
        .eligible
        .iter()
        .find_map(|set| fleet.set_problem(set))
    {
        outcome.status = Status::error("", problem);
        return outcome;
    }
    if spending.is_beyond() {
        outcome.status = mistakes::expressions_beyond_budget(spending.limit());
        return kept(outcome);
    }
    (outcome.matched, outcome.coverage) = predicate::filter(fleet, &compiled.predicates, &outcome.candidates);
    let in_decision = question.prior.clusters();
    let (survivors, next_expiry) = taint_toleration::filter(
        fleet,
        &compiled.tolerations,
        &outcome.matched,
        &in_decision,
        question.now,
    );
    outcome.survivors = survivors;
    outcome.requeue_at = next_expiry;
    score(fleet, question, compiled, &in_decision, &mut outcome);
    let select = |ranked: &[Ranked]| {
        select::select(
            fleet,
            ranked,
            &outcome.survivors,
            &compiled.constraints,
            compiled.number_of_clusters,
        )
    };
    let mut selection = select(&outcome.ranked);
    if question.resumed && !in_decision.is_empty() && selection.selected != in_decision {
        let unmoved = select(&without_balance(fleet, question, compiled, &outcome));
        if unmoved.selected == in_decision {
            selection = unmoved;
        }
    }
    outcome.selected = selection.selected;
    outcome.unscheduled = selection.unscheduled;
    outcome.skipped = selection.skipped;
    let sort = |clusters: &Clusters| -> Vec<ClusterId> {
        if compiled.sort_by_score {
            by_score(&outcome, clusters)
        } else {
            fleet.sorted(clusters)
        }
    };
    outcome.groups = group::divide(fleet, &compiled.grouping, &outcome.selected, question.prior, sort);
    warn(fleet, compiled, &mut outcome);
    outcome
}

/// Adds what is evaluated without an error and most likely not meant.
fn warn(fleet: &Fleet, compiled: &Compiled, outcome: &mut Outcome) {
    outcome.warnings.extend(compiled.warnings.iter().cloned());
    for (constraint, term) in compiled.constraints.iter().enumerate() {
        let mut survivors = outcome.survivors.iter();
        if !outcome.survivors.is_empty() && survivors.all(|cluster| term.domain(fleet, cluster).is_none()) {
            outcome.warnings.push(Warning::TopologyKeyNotFound { constraint });
        }
    }
    let failing = outcome.coverage.iter().filter(|coverage| coverage.fails);
    outcome
        .warnings
        .extend(failing.map(|coverage| Warning::ExpressionFails {
            predicate: coverage.predicate,
        }));
    outcome.warnings.sort();
}

/// The last decision is kept: the outcome selects nothing and has no groups to write.
fn misconfigured(
    fleet: &Fleet,
    mut outcome: Outcome,
    mistake: &Misconfigured,
    question: &Question<'_>,
) -> Outcome {
    outcome.status = mistake.mistakes.first.status();
    if outcome.spending.is_beyond() {
        return kept(outcome);
    }
    if let Some(predicates) = &mistake.predicates {
        outcome.matched = predicate::filter(fleet, predicates, &outcome.candidates).0;
    }
    if let Some(tolerations) = &mistake.tolerations {
        let in_decision = question.prior.clusters();
        outcome.survivors =
            taint_toleration::filter(fleet, tolerations, &outcome.matched, &in_decision, question.now).0;
    }
    kept(outcome)
}

/// An outcome that keeps the last decision, unless a test has the rule broken.
fn kept(mut outcome: Outcome) -> Outcome {
    if sabotaged(Rule::NeverDestroyOnDoubt) {
        outcome.status = Status::default();
        outcome.groups = vec![group::ClusterGroup {
            name: "".into(),
            clusters: Vec::new(),
        }];
    }
    outcome
}

fn score(
    fleet: &Fleet,
    question: &Question<'_>,
    compiled: &Compiled,
    in_decision: &Clusters,
    outcome: &mut Outcome,
) {
    let clusters: Vec<ClusterId> = outcome.survivors.iter().collect();
    let input = Input {
        fleet,
        clusters: &clusters,
        counted: question.counted,
        in_decision,
        now: question.now,
    };
    let mut totals = vec![0i64; clusters.len()];
    for weighted in &compiled.prioritizers {
        let scored = weighted.prioritizer.score(&input);
        for (total, score) in totals.iter_mut().zip(&scored.scores) {
            *total += score * weighted.weight;
        }
        if let Some(warning) = scored.warning {
            outcome.status = warning;
        }
        if let Some(configuration) = weighted.configuration.filter(|_| scored.is_unpublished) {
            outcome
                .warnings
                .push(Warning::ScoreNotPublished { configuration });
        }
        outcome.requeue_at = earliest(outcome.requeue_at, scored.valid_until);
        outcome.prioritizers.push(PrioritizerScores {
            prioritizer: weighted.prioritizer.clone(),
            weight: weighted.weight,
            scores: scored.scores,
            missing: scored.missing,
        });
    }
    let (ranked, next) = select::ranks(fleet, &compiled.tolerations, &clusters, &totals, question.now);
    outcome.ranked = ranked;
    outcome.requeue_at = earliest(outcome.requeue_at, next);
}

/// The ranks that the other prioritizers alone give.
fn without_balance(
    fleet: &Fleet,
    question: &Question<'_>,
    compiled: &Compiled,
    outcome: &Outcome,
) -> Vec<Ranked> {
    let clusters: Vec<ClusterId> = outcome.survivors.iter().collect();
    let mut totals = vec![0i64; clusters.len()];
    let others = outcome.prioritizers.iter();
    for scored in others.filter(|scored| !scored.prioritizer.counts_other_placements()) {
        for (total, score) in totals.iter_mut().zip(&scored.scores) {
            *total += score * scored.weight;
        }
    }
    select::ranks(fleet, &compiled.tolerations, &clusters, &totals, question.now).0
}

/// Score first, then name. PreferNoSelect orders the choice, not the decision: the seed sorts by score alone.
fn by_score(outcome: &Outcome, clusters: &Clusters) -> Vec<ClusterId> {
    let mut sorted: Vec<Ranked> = outcome
        .ranked
        .iter()
        .filter(|ranked| clusters.contains(ranked.cluster))
        .copied()
        .collect();
    sorted.sort_unstable_by_key(|ranked| (std::cmp::Reverse(ranked.total()), ranked.name_rank()));
    sorted.into_iter().map(|ranked| ranked.cluster).collect()
}
