//! The `resourceVersion` of an object that a reconciler knows.

use std::cmp::Ordering;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_runtime::version::compare;

/// The `resourceVersion` of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version(Box<str>);

impl Version {
    pub(crate) fn of(metadata: &ObjectMeta) -> Version {
        Version(metadata.resource_version.as_deref().unwrap_or_default().into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is an earlier state than `other`: a watch may still deliver what an answer to a write has already
    /// overtaken. Versions are decimal numbers on every server there is; where they are not, nothing counts as earlier
    /// and the version in the next write settles it.
    pub(crate) fn is_before(&self, other: &Version) -> bool {
        compare(&self.0, &other.0) == Some(Ordering::Less)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_numbers_and_unknown_ones_not_at_all() {
        let before = |a: &str, b: &str| Version(a.into()).is_before(&Version(b.into()));
        assert!(before("9", "10"));
        assert!(before("99999999999999999999999998", "99999999999999999999999999"));
        assert!(!before("10", "9"));
        assert!(!before("10", "10"));
        assert!(!before("a", "b"));
        assert!(!before("", "1"));
    }
}
