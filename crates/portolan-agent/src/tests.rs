//! What an agent does step by step, with a hub and a member in process.

mod dying;
mod finished;
mod fixture;
mod inside;
mod rules;
mod silent;
