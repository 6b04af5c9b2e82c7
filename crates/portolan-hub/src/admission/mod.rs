//! The seam where somebody else has a say in a write: first in what is written, then in whether it is.
//!
//! The order is that of Kubernetes: every [`Admission`] may change the object, then it is pruned, defaulted and validated
//! by its schema, then every one may refuse what would be stored. Admission sees what clients write. What the hub does on
//! its own, such as garbage collection, passes without.

mod refusal;
mod request;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

pub use refusal::Refusal;
pub use request::{AdmissionRequest, Operation, Right, User};

/// What an [`Admission`] answers, in its own time.
pub type Verdict<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;

/// Checks writes before they are stored: the client of a webhook, a policy, a validator in the same process.
///
/// Both methods may be called again for one request, when another write came in between.
pub trait Admission: Send + Sync + 'static {
    /// Changes an object that is about to be created or updated. Warnings are shown to whoever writes.
    fn mutate<'a>(
        &'a self,
        request: &'a AdmissionRequest,
        object: &'a mut Value,
        warnings: &'a mut Vec<String>,
    ) -> Verdict<'a, ()> {
        let _ = (request, object, warnings);
        Box::pin(async { Ok(()) })
    }

    /// The rights that the writer needs besides the right to write. The hub checks them after all admission has accepted the write.
    fn rights(&self, request: &AdmissionRequest, object: &Value) -> Vec<Right> {
        let _ = (request, object);
        Vec::new()
    }

    /// Refuses a write, or lets it pass. `object` is what would be stored; a deletion has none.
    fn validate<'a>(
        &'a self,
        request: &'a AdmissionRequest,
        object: Option<&'a Value>,
        warnings: &'a mut Vec<String>,
    ) -> Verdict<'a, ()> {
        let _ = (request, object, warnings);
        Box::pin(async { Ok(()) })
    }
}

/// Everybody who has a say, in the order they were added.
#[derive(Clone, Default)]
pub(crate) struct Chain(Vec<Arc<dyn Admission>>);

impl Chain {
    pub(crate) fn push(&mut self, admission: Arc<dyn Admission>) {
        self.0.push(admission);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) async fn mutate(
        &self,
        request: &AdmissionRequest,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Refusal> {
        for admission in &self.0 {
            admission.mutate(request, object, warnings).await?;
        }
        Ok(())
    }

    pub(crate) fn rights(&self, request: &AdmissionRequest, object: &Value) -> Vec<Right> {
        let all = self.0.iter();
        all.flat_map(|admission| admission.rights(request, object))
            .collect()
    }

    pub(crate) async fn validate(
        &self,
        request: &AdmissionRequest,
        object: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Refusal> {
        for admission in &self.0 {
            admission.validate(request, object, warnings).await?;
        }
        Ok(())
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({})", self.0.len())
    }
}
