mod built_in;
mod conditions;
mod fixture;
mod heartbeats;
mod history;
mod hub;
mod taints;
