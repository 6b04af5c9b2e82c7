//! The member cluster: finding out what it serves, reading and writing objects. Nothing here decides.

mod kinds;
mod objects;
mod pages;
mod problem;

pub(crate) use kinds::{Answered, learn};
pub(crate) use objects::{IMPERSONATE, Objects, Part, Place};
pub(crate) use pages::Pages;
pub(crate) use problem::Problem;
