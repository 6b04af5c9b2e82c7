//! What a change, or the absence of one, must look like: checks over two states.
//!
//! The states are settled unless a function says otherwise. What lies between them is the business of
//! [`crate::stream`].

mod revisions;
mod writers;

pub(crate) use revisions::rises;
pub use revisions::{few_slices, immutable, one_revision, revisions_rise};
pub use writers::{
    content_follows, first_revision_labels_fixed, foreign_untouched, kept, key_stable, not_adopted,
    profiles_deleted, untouched,
};
