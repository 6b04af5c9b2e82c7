//! Each switch that breaks a rule is noticed by the check for it.

use portolan_api::cluster::UpdateStrategyType::RollingUpdate;
use portolan_check::{CheckId, stream};

use super::history::{Change, History};
use crate::sabotage::{Rule, with_sabotaged};

/// An ordered decision of 200 clusters whose order changes.
fn reordered() -> History {
    let mut history = History::new(true, RollingUpdate);
    history.change(Change::Select(200, 1));
    let _ = history.settle(0);
    history.change(Change::Rank(99));
    let _ = history.settle(0);
    history
}

#[test]
fn shrinking_before_growing_is_noticed() {
    assert!(stream::check(&reordered().recording).is_clean());
    let report = with_sabotaged(Rule::NoGap, || stream::check(&reordered().recording));
    let kinds: Vec<_> = report
        .of(CheckId::Rule1)
        .map(|finding| finding.subject.clone())
        .collect();
    assert!(kinds.contains(&"decision apps/web".to_owned()), "{report}");
    assert!(kinds.contains(&"OCM decision apps/web".to_owned()), "{report}");
}

#[test]
fn writing_what_is_the_same_is_noticed() {
    let again = || {
        let mut history = reordered();
        let _ = history.settle(0);
        stream::check(&history.recording)
    };
    assert!(again().is_clean());
    let report = with_sabotaged(Rule::UnchangedUntouched, again);
    assert!(report.failed().contains(&CheckId::Rule3), "{report}");
}

#[test]
fn overfilling_a_slice_is_noticed() {
    let report = with_sabotaged(Rule::SliceLimit, || stream::check(&reordered().recording));
    assert!(report.failed().contains(&CheckId::Rule4), "{report}");
}
