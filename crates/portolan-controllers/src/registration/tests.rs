mod built_in;
mod conditions;
mod fixture;
mod history;
mod hub;
mod taints;
