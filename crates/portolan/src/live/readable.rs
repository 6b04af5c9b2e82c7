//! Objects of a list that can be read. Those that cannot are named on standard error and hide no other.

use std::fmt::Display;

use kube::core::ObjectList;
use portolan_api::reading::Received;

use crate::output;

/// The objects of a list that can be read.
pub(crate) fn readable<K: kube::Resource<DynamicType = ()> + Clone>(list: ObjectList<Received<K>>) -> Vec<K> {
    let objects = list.items.into_iter().map(Received::readable);
    objects
        .filter_map(|object| match object {
            Ok(object) => Some(object),
            Err(unreadable) => {
                output::remark(&format!(
                    "note: {}\n",
                    left_out(&K::kind(&()), &unreadable.place(), &unreadable)
                ));
                None
            }
        })
        .collect()
}

/// What is said of an object that cannot be read.
fn left_out(kind: &str, place: &str, problem: &dyn Display) -> String {
    format!("{kind} {place} cannot be read and is left out: {problem}")
}
