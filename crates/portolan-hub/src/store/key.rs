//! Where an object lives: `group/plural/namespace/name`, in one string so that a range read is a prefix.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// The place of one object. The group is empty for the core group, the namespace for cluster-scoped kinds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(Arc<str>);

impl Key {
    pub(crate) fn new(group: &str, plural: &str, namespace: &str, name: &str) -> Self {
        Self(format!("{group}/{plural}/{namespace}/{name}").into())
    }

    /// Reads a key as it stands in the file. `None` if it has not exactly four parts.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        (text.matches('/').count() == 3).then(|| Self(text.into()))
    }

    /// The range of all objects of a kind, or of those in one namespace.
    pub(crate) fn prefix(group: &str, plural: &str, namespace: Option<&str>) -> String {
        match namespace {
            Some(namespace) => format!("{group}/{plural}/{namespace}/"),
            None => format!("{group}/{plural}/"),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn group(&self) -> &str {
        self.part(0)
    }

    pub(crate) fn plural(&self) -> &str {
        self.part(1)
    }

    pub(crate) fn namespace(&self) -> &str {
        self.part(2)
    }

    pub(crate) fn name(&self) -> &str {
        self.part(3)
    }

    fn part(&self, at: usize) -> &str {
        self.0.split('/').nth(at).unwrap_or_default()
    }
}

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_read_back() {
        let key = Key::new("apps", "deployments", "default", "web");
        assert_eq!(
            (key.group(), key.plural(), key.namespace(), key.name()),
            ("apps", "deployments", "default", "web")
        );
        assert_eq!(Key::parse(key.as_str()), Some(key));
        assert_eq!(Key::parse("a/b/c"), None);
    }
}
