//! Tests of the pipeline as a whole. Those of one plugin stand beside it.

mod budget;
mod conditions;
mod explain;
mod fixture;
mod groups;
mod pipeline;
mod profiles;
mod rules;
mod spread;
mod warnings;
