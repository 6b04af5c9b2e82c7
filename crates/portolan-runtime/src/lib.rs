//! The runtime of every program that keeps objects on an API server up to date: the controllers and the agent.
//!
//! It knows how a kind is watched, how a task that died is noticed, what a failed request means and how often the log says
//! so. It knows no kind of Portolan, decides nothing and writes nothing to a server. The controllers, the agent and the
//! command line call it.
//!
//! ```text
//! watch/    one watch per kind, object by object: what is known, and how well
//! tasks     tasks by name: one that panics, ends early or stands still is noticed
//! failure/  what a failed request means, and its text
//! logging/  how often a failure or a change is said in the log
//! version   which of two resource versions is newer
//! clock     the clock that programs are handed
//! ```

mod clock;
pub mod failure;
pub mod logging;
pub mod tasks;
pub mod version;
pub mod watch;

pub use clock::Clock;
