//! What admission is told about a write.

use std::collections::BTreeMap;

use serde_json::Value;

/// What a client wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A replace, a patch or an apply of an object that is there.
    Update,
    /// A deletion, also of one object of a collection.
    Delete,
}

/// The user who writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct User {
    /// The user name.
    pub name: String,
    /// The groups.
    pub groups: Vec<String>,
    /// What tells two users of one name apart; often empty.
    pub uid: String,
    /// What else the credential says.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// One write, with everything but the object.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AdmissionRequest {
    /// What is to be done.
    pub operation: Operation,
    /// The API group; empty for the core group.
    pub group: String,
    /// The version that the object is in.
    pub version: String,
    /// The kind of the object.
    pub kind: String,
    /// The resource: the plural in the path.
    pub resource: String,
    /// `status`, `scale` or `finalize`, or empty. The object is the whole one in every case.
    pub subresource: String,
    /// The namespace; empty for objects without one.
    pub namespace: String,
    /// The name; empty for an object whose name is yet to be generated.
    pub name: String,
    /// The user who writes.
    pub user: User,
    /// The object before, in the same version; a new one has none.
    pub old: Option<Value>,
    /// Whether nothing is stored in any case.
    pub dry_run: bool,
    /// `CreateOptions`, `UpdateOptions`, `PatchOptions` or `DeleteOptions` of `meta.k8s.io/v1`, as far as they were given.
    pub options: Value,
}

/// Something that a user may or may not do to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    /// The verb, such as `get`.
    pub verb: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource.
    pub resource: String,
    /// The namespace; empty for objects without one.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
}
