//! Failed requests: the class of a failure, and its text for logs, conditions and the command line.
//!
//! Every text of a `kube::Error` comes from [`error_chain`]. The errors' own texts are for developers: that of a refused
//! request contains the debug rendering of a whole `Status`.

mod chain;
mod class;
mod too_large;

pub use chain::{error_chain, says, shortened};
pub use class::Failure;
pub use too_large::TooLarge;
