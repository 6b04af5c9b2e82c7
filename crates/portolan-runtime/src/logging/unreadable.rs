//! Objects that cannot be read: each is named once, and again when it is broken in another way.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use portolan_api::count::counted;

use super::FailureLog;

/// Objects that are named in the answer of a probe; the rest is a number.
const NAMED: usize = 20;
/// Objects that get a line in the log. One writer may break as many as it can make.
const LINES: usize = 100;

impl FailureLog {
    /// An object of a resource is there and cannot be read.
    pub fn cannot_read(&self, resource: &str, object: &str, problem: &str) {
        let before = {
            let mut known = self.lock();
            let at = (resource.to_owned(), object.to_owned());
            let before = known.unreadable.insert(at, problem.to_owned());
            (before, known.unreadable.len())
        };
        self.0.has_unreadable.store(true, Ordering::Relaxed);
        match before {
            (Some(before), _) if before == problem => {}
            (None, LINES..) => {}
            _ => tracing::warn!(
                "cannot read {resource} {object}: {problem}; what depends on it is kept as it is until the object can be \
                 read"
            ),
        }
    }

    /// An object of a resource can be read, or is gone.
    pub fn can_read(&self, resource: &str, object: &str) {
        if !self.0.has_unreadable.load(Ordering::Relaxed) {
            return;
        }
        let mut known = self.lock();
        let at = (resource.to_owned(), object.to_owned());
        let was_unreadable = known.unreadable.remove(&at).is_some();
        self.0
            .has_unreadable
            .store(!known.unreadable.is_empty(), Ordering::Relaxed);
        drop(known);
        if was_unreadable {
            tracing::info!("{resource} {object} can be read again, or is gone");
        }
    }

    /// The objects that cannot be read, for probes.
    pub fn unreadable(&self) -> Vec<String> {
        let known = self.lock();
        let named = known.unreadable.iter().take(NAMED);
        let mut lines: Vec<String> = named
            .map(|((resource, object), problem)| format!("{resource} {object} cannot be read: {problem}"))
            .collect();
        if let Some(more) = known.unreadable.len().checked_sub(NAMED).filter(|more| *more > 0) {
            lines.push(format!("{} cannot be read", counted(more, "more object")));
        }
        lines
    }

    /// How many objects cannot be read, by resource.
    pub fn count_unreadable(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for (resource, _) in self.lock().unreadable.keys() {
            *counts.entry(resource.clone()).or_default() += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_cannot_be_read_is_named_until_it_can_be() {
        let log = FailureLog::new("the hub");
        log.cannot_read("works", "west/web", "spec: invalid type");
        log.cannot_read("works", "west/api", "spec: invalid type");
        assert_eq!(
            log.unreadable()[1],
            "works west/web cannot be read: spec: invalid type"
        );
        assert_eq!(log.count_unreadable()["works"], 2);
        log.can_read("works", "west/web");
        log.can_read("works", "west/other");
        assert_eq!(log.unreadable().len(), 1);
        log.can_read("works", "west/api");
        assert!(log.count_unreadable().is_empty());
    }

    #[test]
    fn a_probe_is_not_flooded() {
        let log = FailureLog::new("the hub");
        for number in 0..50 {
            log.cannot_read("works", &number.to_string(), "x");
        }
        let lines = log.unreadable();
        assert_eq!(
            (lines.len(), lines[20].as_str()),
            (21, "30 more objects cannot be read")
        );
    }
}
