//! What an agent does step by step, with a hub and a member in process.

mod crowding;
mod dying;
mod evicting;
mod executing;
mod finished;
mod fixture;
mod inside;
mod owning;
mod refusing;
mod remade;
mod reserved;
mod rules;
mod silent;
