//! Replica sets without a server: what a work's status amounts to, which decisions can be believed, and what follows.

mod absences;
mod attempts;
mod bindings;
mod clocks;
mod concerned;
mod decisions;
mod endings;
mod evaluation;
mod overview;
mod reports;
