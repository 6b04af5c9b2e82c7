//! The change of a what-if: objects added, replaced and removed.

use std::path::PathBuf;

use crate::command_input;
use crate::input::{self, Key, Manifests, Notes, Problem, Problems, Reference};

/// The manifests after the change, or nothing when no change is asked for.
pub(super) fn apply(
    manifests: &Manifests,
    what_if: &[PathBuf],
    remove: &[Reference],
    place: &str,
    notes: &mut Notes,
) -> Result<Option<Manifests>, Problems> {
    if what_if.is_empty() && remove.is_empty() {
        return Ok(None);
    }
    let added = if what_if.is_empty() {
        Manifests::default()
    } else {
        input::read(what_if, notes)?
    };
    let mut changed = manifests.clone();
    let mut problems = Problems::default();
    for reference in remove {
        match find(manifests, reference, place) {
            Ok(key) if added.contains(&key) => {
                problems.push(Problem::of_arguments(format!(
                    "--remove {reference}: --what-if adds it; accepted: one of both"
                )));
            }
            Ok(key) => changed.remove(&key),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    changed.overlay(added);
    Ok(Some(changed))
}

/// The one object that a reference means.
fn find(manifests: &Manifests, reference: &Reference, place: &str) -> Result<Key, Problem> {
    let of_kind = || {
        reference
            .kinds
            .iter()
            .flat_map(|(group, kind)| manifests.keys_of(group, kind))
    };
    let mut found =
        of_kind().filter(|key| key.namespace == reference.namespace && key.name == reference.name);
    match (found.next(), found.next()) {
        (Some(key), None) => Ok(key.clone()),
        (Some(one), Some(other)) => Err(Problem::of_arguments(format!(
            "--remove {reference} may be of two kinds; accepted: {}",
            [one, other].map(grouped).join(" or ")
        ))),
        _ => {
            let name = reference.to_string();
            let kinds = reference.kinds.iter().map(|(_, kind)| kind.to_string());
            let kinds = kinds.collect::<std::collections::BTreeSet<String>>();
            let kind = Vec::from_iter(kinds).join(" or ");
            Err(command_input::missing(&kind, &name, place, of_kind().map(short)))
        }
    }
}

fn short(key: &Key) -> String {
    let kind = key.kind.to_ascii_lowercase();
    match key.namespace.as_str() {
        "" => format!("{kind}/{}", key.name),
        namespace => format!("{kind}/{namespace}/{}", key.name),
    }
}

fn grouped(key: &Key) -> String {
    format!(
        "{}.{}/{}/{}",
        key.kind.to_ascii_lowercase(),
        key.group,
        key.namespace,
        key.name
    )
}
