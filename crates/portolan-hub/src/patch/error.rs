//! How a patch fails: the HTTP class Kubernetes answers with, and its wording.

/// A patch that could not be applied. The variant is the status class, the text is the message for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatchError {
    /// 400 BadRequest: the patch itself is malformed, or names another object.
    #[error("{0}")]
    BadRequest(String),
    /// 413 RequestEntityTooLarge: more operations than a server is willing to run.
    #[error("{0}")]
    TooLarge(String),
    /// 422 without a reason: the patch is well formed but does not fit this object.
    #[error("{0}")]
    Unprocessable(String),
    /// 500 InternalError: Kubernetes reports these defects of a patch as its own failure, and so do we.
    #[error("{0}")]
    Internal(String),
}
