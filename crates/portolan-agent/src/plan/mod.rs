//! What is to be done about the objects of a work. Nothing here touches a server.

mod action;
mod deletion_cause;
mod drift;
mod fold;
mod ignore;
mod jq;
mod judgement;
mod managed;
mod order;
mod owners;
mod ownership;
mod permission;
mod reference;
mod removal;
mod rollback;
mod spec_hash;

pub(crate) use action::{Action, Seen, act};
pub(crate) use deletion_cause::{DeletionCause, Served, meaning};
pub(crate) use fold::fold;
pub(crate) use ignore::{There, ignored_mistakes};
pub(crate) use judgement::{Judgements, Standing, Verdict};
pub(crate) use order::apply_order;
pub(crate) use owners::{Other, Owner, RecordOwners, Sought};
pub(crate) use ownership::{Ownership, Rival};
pub(crate) use permission::{Allowed, Right, Scope, denial, verbs};
pub(crate) use reference::RecordReference;
pub(crate) use removal::{Licence, Removal, is_orphaned, removal};
pub(crate) use rollback::{Trust, trust};
