//! Kinds that the server does not serve, in the log: one line for all that are missed at the same time.
//!
//! A server without the definitions misses every kind. A line for each watch would say one cause many times.

use std::collections::BTreeSet;

use portolan_api::count::counted;

use super::FailureLog;

/// Kinds that a line names.
const NAMED: usize = 4;

/// Kinds that the server does not serve.
#[derive(Debug, Default)]
pub(super) struct Unserved {
    /// Not in the log yet.
    unsaid: BTreeSet<String>,
    /// In the log.
    said: BTreeSet<String>,
}

impl FailureLog {
    /// A watch found that the server does not serve `resource` in `version`. Nothing is logged before
    /// [`FailureLog::say_unserved`].
    pub fn is_unserved(&self, resource: &str, version: &str) {
        let kind = format!("{resource}/{version}");
        let unserved = &mut self.lock().unserved;
        if !unserved.said.contains(&kind) {
            unserved.unsaid.insert(kind);
        }
    }

    /// Logs what other watches and this one found since the last line. Every watch that found something calls it after a
    /// pause; the first call logs for all.
    pub fn say_unserved(&self) {
        let Some(line) = self.unserved_line() else { return };
        tracing::warn!("{line}");
    }

    /// The server serves the kind again, or at last.
    pub fn is_served(&self, resource: &str, version: &str) {
        let kind = format!("{resource}/{version}");
        let unserved = &mut self.lock().unserved;
        if unserved.unsaid.remove(&kind) {
            return;
        }
        let was_said = unserved.said.remove(&kind);
        match (was_said, unserved.said.len()) {
            (true, 0) => tracing::info!("{} serves {resource} now; no kind is missing", self.0.server),
            _ => tracing::info!("{resource} can be listed now"),
        }
    }

    fn unserved_line(&self) -> Option<String> {
        let unserved = &mut self.lock().unserved;
        let kinds = std::mem::take(&mut unserved.unsaid);
        if kinds.is_empty() {
            return None;
        }
        let named: Vec<&str> = kinds.iter().take(NAMED).map(String::as_str).collect();
        let more = match kinds.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let line = format!(
            "{} does not serve {} that this process needs: {}{more}; install the definitions there with \
             `portolan crds | kubectl apply -f -`{}",
            self.0.server,
            counted(kinds.len(), "kind"),
            named.join(", "),
            self.0.also_installs,
        );
        unserved.said.extend(kinds);
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_are_missed_together_are_said_in_one_line() {
        let log = FailureLog::new("the hub");
        let kinds = [
            "managedclusters",
            "managedclustersetbindings",
            "managedclustersets",
            "placementdecisions",
            "placements",
            "addonplacementscores",
        ];
        // Two watches of each kind.
        for kind in kinds.into_iter().chain(kinds) {
            log.is_unserved(&format!("{kind}.cluster.open-cluster-management.io"), "v1beta1");
        }
        let line = log.unserved_line().unwrap();
        assert!(
            line.starts_with(
                "the hub does not serve 6 kinds that this process needs: addonplacementscores.cluster."
            ),
            "{line}"
        );
        assert!(
            line.contains(" and 2 more; install") && line.len() < 500,
            "{line}"
        );
        assert_eq!(log.unserved_line(), None, "the other watches say nothing");
    }

    #[test]
    fn a_kind_that_goes_again_is_said_again() {
        let log = FailureLog::new("the hub");
        log.is_unserved("placements", "v1");
        assert!(log.unserved_line().is_some());
        log.is_unserved("placements", "v1");
        assert_eq!(log.unserved_line(), None);
        log.is_served("placements", "v1");
        log.is_unserved("placements", "v1");
        assert!(
            log.unserved_line()
                .is_some_and(|line| line.contains("1 kind that"))
        );
    }
}
