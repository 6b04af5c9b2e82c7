//! Whether a work that is being deleted was deleted by somebody, or goes with the definition of its kind.
//!
//! Deleting a CustomResourceDefinition deletes every object of the kind, and each of these deletions looks like any
//! other. An agent may not read definitions, but everybody may ask what a server serves, and a server that ends a kind
//! says so there: the kind has no `create` any more. (That a kind is not listed at all tells nothing: the server may be
//! starting.) It may be said a moment later than the first object is marked as deleted, which is why an answer counts only
//! some time after that.

use std::time::Duration;

use tokio::time::Instant;

use crate::sabotage::{Rule, sabotaged};

/// What a server said about a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// When it was asked.
    pub(crate) asked: Instant,
    /// Whether objects of the kind can be made.
    pub(crate) lasting: bool,
}

/// What the deletion of a work means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeletionCause {
    /// That cannot be told before this moment.
    Early(Instant),
    /// The server is to be asked what it serves.
    Ask,
    /// A client deleted the work.
    Deleted,
    /// The kind is going, and the work with it.
    KindGoes,
}

/// What the deletion of a work means that was heard of at `heard`, by the last answer about its kind.
pub(crate) fn meaning(
    heard: Instant,
    patience: Duration,
    said: Option<Served>,
    now: Instant,
) -> DeletionCause {
    if sabotaged(Rule::DefinitionIsNoDeletion) {
        return DeletionCause::Deleted;
    }
    let telling = heard + patience;
    // A kind may go at any time, so that an answer is good for a moment only; works that are deleted together share it.
    let good_until = |said: Served| said.asked + patience.max(Duration::from_millis(1));
    match said {
        // A definition that is going does not come back.
        Some(said) if !said.lasting && said.asked >= heard => DeletionCause::KindGoes,
        Some(said) if said.asked >= telling && now < good_until(said) => DeletionCause::Deleted,
        _ if now < telling => DeletionCause::Early(telling),
        _ => DeletionCause::Ask,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    const LASTING: Duration = Duration::from_secs(2);

    fn at(second: u64) -> Instant {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        *START + Duration::from_secs(second)
    }

    /// What a deletion that was heard of at second 10 means.
    fn means(said: Option<(u64, bool)>, now: u64) -> DeletionCause {
        let said = said.map(|(asked, lasting)| Served {
            asked: at(asked),
            lasting,
        });
        meaning(at(10), LASTING, said, at(now))
    }

    #[test]
    fn nobody_is_believed_before_the_server_had_time_to_say_that_the_kind_goes() {
        assert_eq!(means(None, 10), DeletionCause::Early(at(12)));
        assert_eq!(means(Some((11, true)), 11), DeletionCause::Early(at(12)));
        assert_eq!(means(Some((11, true)), 12), DeletionCause::Ask);
        assert_eq!(means(Some((12, true)), 12), DeletionCause::Deleted);
    }

    #[test]
    fn that_the_kind_goes_is_believed_at_once_unless_it_was_said_before() {
        assert_eq!(means(Some((10, false)), 10), DeletionCause::KindGoes);
        assert_eq!(means(Some((9, false)), 10), DeletionCause::Early(at(12)));
    }

    #[test]
    fn an_answer_is_good_for_a_moment() {
        assert_eq!(means(Some((12, true)), 13), DeletionCause::Deleted);
        assert_eq!(means(Some((12, true)), 14), DeletionCause::Ask);
    }
}
