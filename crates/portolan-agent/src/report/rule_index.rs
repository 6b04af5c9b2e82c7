//! What the rules of a work name, read once for each list of rules. One list may be about every manifest of a work, and a walk
//! through the list for every manifest would cost rules times manifests.

use std::collections::HashMap;

use portolan_api::labels::conditions as types;
use portolan_api::work::{ConditionRule, ConditionRuleType};

/// Conditions that rollouts and others act upon. That such a condition is missing would say something.
pub(super) const ACTED_UPON: [&str; 4] = [
    types::WORK_AVAILABLE,
    types::PROGRESSING,
    types::DEGRADED,
    types::COMPLETE,
];

/// The indexes of all lists of rules of one work.
#[derive(Default)]
pub(super) struct RuleIndexes<'f> {
    /// By the place of a list in memory: lists are shared, and live as long as this.
    known: HashMap<(*const ConditionRule, usize), RuleIndex<'f>>,
}

impl<'f> RuleIndexes<'f> {
    pub(super) fn of(&mut self, rules: &'f [ConditionRule]) -> &RuleIndex<'f> {
        let place = (rules.as_ptr(), rules.len());
        self.known.entry(place).or_insert_with(|| RuleIndex::of(rules))
    }

    /// How many lists were read.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

/// Where in a list of rules a condition is named.
#[derive(Default)]
pub(super) struct RuleIndex<'f> {
    first: HashMap<&'f str, usize>,
    /// The last rule by expressions, and the last by what is well known, for each of [`ACTED_UPON`].
    last: [(Option<usize>, Option<usize>); ACTED_UPON.len()],
    /// The last rule that stands for everything that is well known of a kind.
    last_unnamed: Option<usize>,
}

impl<'f> RuleIndex<'f> {
    fn of(rules: &'f [ConditionRule]) -> RuleIndex<'f> {
        let mut index = RuleIndex::default();
        for (position, rule) in rules.iter().enumerate() {
            match (rule.named(), rule.r#type) {
                (Some(named), r#type) => {
                    index.first.entry(named).or_insert(position);
                    let Some(acted_upon) = ACTED_UPON.iter().position(|acted_upon| *acted_upon == named)
                    else {
                        continue;
                    };
                    let (by_cel, by_kind) = &mut index.last[acted_upon];
                    match r#type {
                        ConditionRuleType::Cel => *by_cel = Some(position),
                        ConditionRuleType::WellKnownConditions => *by_kind = Some(position),
                    }
                }
                (None, ConditionRuleType::WellKnownConditions) => index.last_unnamed = Some(position),
                (None, ConditionRuleType::Cel) => {}
            }
        }
        index
    }

    /// The first rule that names a condition.
    pub(super) fn first(&self, named: &str) -> Option<usize> {
        self.first.get(named).copied()
    }

    /// Those of [`ACTED_UPON`] that a rule from this position on names.
    pub(super) fn named_from(&self, position: usize) -> impl Iterator<Item = &'static str> + '_ {
        let all = ACTED_UPON.iter().zip(&self.last);
        all.filter(move |(_, (by_cel, by_kind))| by_cel.max(by_kind).is_some_and(|last| last >= position))
            .map(|(named, _)| *named)
    }

    /// Whether a rule from this position on stands for everything that is well known of a kind.
    pub(super) fn has_unnamed_from(&self, position: usize) -> bool {
        self.last_unnamed.is_some_and(|last| last >= position)
    }

    /// Whether a rule can give this one of [`ACTED_UPON`]; `usual` says whether the condition is well known for the kind.
    pub(super) fn can_give(&self, named: &str, usual: impl FnOnce() -> bool) -> bool {
        let acted_upon = ACTED_UPON.iter().position(|acted_upon| *acted_upon == named);
        let (by_cel, by_kind) = acted_upon.map_or((None, None), |acted_upon| self.last[acted_upon]);
        by_cel.is_some() || ((by_kind.is_some() || self.last_unnamed.is_some()) && usual())
    }
}
