//! What is to be done about the objects of a work. Nothing here touches a server.

mod action;
mod claims;
mod definition;
mod doubt;
mod drift;
mod fold;
mod ignore;
mod jq;
mod judgement;
mod managed;
mod order;
mod owners;
mod permission;
mod reference;
mod removal;
mod spec_hash;

pub(crate) use action::{Action, Seen, act};
pub(crate) use claims::{Claims, Rival};
pub(crate) use definition::{Meaning, Served, meaning};
pub(crate) use doubt::{Stance, stance};
pub(crate) use fold::fold;
pub(crate) use ignore::{There, ignored_mistakes};
pub(crate) use judgement::{Judgements, Standing, Verdict};
pub(crate) use order::apply_order;
pub(crate) use owners::{Other, Owner, RecordOwners, Sought};
pub(crate) use permission::{Allowed, Right, Scope, denial, verbs};
pub(crate) use reference::RecordReference;
pub(crate) use removal::{Licence, Removal, is_orphaned, removal};
