//! Every check has a control: data that meets everything, and data broken on purpose that fails that check alone.

mod consumers;
mod fixtures;
mod numbers;
mod ocm;
mod pairs;
mod registry;
mod rollouts;
mod states;
mod streams;
mod values;

use crate::{CheckId, Report};

/// A check with data that meets it and data that breaks it and nothing else.
struct Control {
    check: CheckId,
    /// What is broken.
    name: &'static str,
    sound: fn() -> Report,
    broken: fn() -> Report,
}

fn hold(controls: &[Control]) {
    for Control {
        check,
        name,
        sound,
        broken,
    } in controls
    {
        let report = sound();
        assert!(report.is_clean(), "{check}, sound data for {name:?}: {report}");
        let report = broken();
        assert_eq!(report.failed(), [*check], "{check}, {name}: {report}");
        assert!(
            report
                .findings
                .iter()
                .all(|finding| !finding.subject.is_empty() && !finding.message.is_empty())
        );
    }
}
