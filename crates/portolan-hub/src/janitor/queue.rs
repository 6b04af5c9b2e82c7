//! The objects that wait to be looked at, each once.

use std::collections::{HashSet, VecDeque};

use crate::store::Key;

/// First in, first out. A set beside it, because one change can concern thousands of objects.
#[derive(Debug, Default)]
pub(super) struct Queue {
    order: VecDeque<Key>,
    waiting: HashSet<Key>,
}

impl Queue {
    /// Puts an object at the end, unless it waits already.
    pub(super) fn push(&mut self, key: Key) {
        if self.waiting.insert(key.clone()) {
            self.order.push_back(key);
        }
    }

    /// Takes the first objects, at most `limit` of them.
    pub(super) fn take(&mut self, limit: usize) -> Vec<Key> {
        let taken: Vec<Key> = self.order.drain(..limit.min(self.order.len())).collect();
        for key in &taken {
            self.waiting.remove(key);
        }
        taken
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    #[cfg(test)]
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_waits_once_and_can_wait_again_after_it_was_taken() {
        let key = |name: &str| Key::new("", "configmaps", "default", name);
        let mut queue = Queue::default();
        for name in ["a", "b", "a", "c"] {
            queue.push(key(name));
        }
        assert_eq!(queue.take(2), [key("a"), key("b")]);
        queue.push(key("a"));
        queue.push(key("c"));
        assert_eq!(queue.take(9), [key("c"), key("a")]);
        assert!(queue.is_empty());
    }
}
