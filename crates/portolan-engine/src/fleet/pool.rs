//! Shared strings: most label keys and values repeat across the fleet.

use std::sync::Arc;

use hashbrown::HashSet;

/// Hands out one allocation per distinct string and forgets those that nobody holds any more.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    strings: HashSet<Arc<str>>,
    /// Size after the last sweep. Sweeping at twice that size keeps the cost per string constant.
    swept: usize,
}

impl Pool {
    pub(crate) fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(shared) = self.strings.get(text) {
            return shared.clone();
        }
        if self.strings.len() > 2 * self.swept.max(1024) {
            self.strings.retain(|string| Arc::strong_count(string) > 1);
            self.swept = self.strings.len();
        }
        let shared: Arc<str> = text.into();
        self.strings.insert(shared.clone());
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_that_nobody_holds_are_forgotten() {
        let mut pool = Pool::default();
        let kept = pool.share("kept");
        (0..10_000).for_each(|i| drop(pool.share(&i.to_string())));
        assert!(pool.strings.len() < 4096, "{}", pool.strings.len());
        assert!(Arc::ptr_eq(&kept, &pool.share("kept")));
    }
}
