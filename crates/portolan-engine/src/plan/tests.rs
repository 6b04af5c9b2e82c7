//! Plans as transcripts, and histories under random faults.

mod all;
mod broken;
mod faults;
mod history;
mod slices;
mod surge;
