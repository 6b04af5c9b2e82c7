//! Objects of a list that can be read. Those that cannot are named on standard error and hide no other.

use std::fmt;

use kube::core::ObjectList;
use portolan_api::reading::{Received, Unreadable};

use crate::output;

/// An object that cannot be read.
#[derive(Clone, Debug)]
pub(crate) struct LeftOut {
    kind: String,
    pub(crate) object: Box<Unreadable>,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LeftOut { kind, object } = self;
        write!(
            f,
            "{kind} {} cannot be read and is left out: {object}",
            object.place()
        )
    }
}

/// The objects of a list that can be read, and those that cannot.
pub(crate) fn split<K: kube::Resource<DynamicType = ()> + Clone>(
    list: ObjectList<Received<K>>,
) -> (Vec<K>, Vec<LeftOut>) {
    let mut readable = Vec::new();
    let mut left_out = Vec::new();
    for object in list.items {
        match object.readable() {
            Ok(object) => readable.push(object),
            Err(object) => left_out.push(LeftOut {
                kind: K::kind(&()).into_owned(),
                object,
            }),
        }
    }
    (readable, left_out)
}

/// Names objects that cannot be read on standard error.
pub(crate) fn note(left_out: &[LeftOut]) {
    for object in left_out {
        output::remark(&format!("note: {object}\n"));
    }
}

/// The objects of a list that can be read. The others are named.
pub(crate) fn readable<K: kube::Resource<DynamicType = ()> + Clone>(list: ObjectList<Received<K>>) -> Vec<K> {
    let (readable, left_out) = split(list);
    note(&left_out);
    readable
}
