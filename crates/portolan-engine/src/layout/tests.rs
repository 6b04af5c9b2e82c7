//! Objects as they are published.

mod adopt;
mod limit;
mod objects;
mod stick;
