//! Plans as transcripts, and histories under random faults.

mod all;
mod faults;
mod history;
mod sabotaged;
mod slices;
mod surge;
