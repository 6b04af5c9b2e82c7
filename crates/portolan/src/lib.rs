//! The command line of Portolan: which clusters a workload goes to, why, why not, and what if, from files or a live hub;
//! and the programs that keep the answer true, `up`, `controller` and
//! `agent`.
//!
//! What is here: reading manifests ([`input`]) and hubs, one module a command, and how answers are printed. What it never
//! does: decide. It feeds the engine, asks it and renders the answer, or starts the controllers. It is also the only
//! crate that reads files and the clock.
//!
//! It is a library so that tests and fuzz targets reach the reader; the binary calls [`main`] and nothing else.

mod address;
mod admin_kubeconfig;
mod agent;
mod cli;
mod clock;
mod command_input;
mod completions;
mod controller;
mod crds;
mod decided;
mod demo;
mod doctor;
mod explain;
mod get;
mod hub;
pub mod input;
mod join;
#[doc(hidden)]
pub mod kubeconfig;
mod leave;
mod lint;
mod listen;
mod live;
mod logging;
mod man;
mod member_name;
mod number;
mod object_name;
mod output;
mod progress;
mod rollout;
mod set_names;
mod shell;
mod simulate;
mod stop;
mod stray_bindings;
mod tracing_export;
mod up;
mod version;
mod watch;
mod work_admission;
mod world;

pub use cli::main;
