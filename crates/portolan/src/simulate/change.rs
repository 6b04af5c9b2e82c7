//! The change of a what-if: objects added, replaced and removed.

use std::path::PathBuf;

use crate::input::{self, Key, Manifests, Notes, Problem, Problems, Reference};

/// The manifests after the change, or nothing when no change is asked for.
pub(super) fn apply(
    manifests: &Manifests,
    what_if: &[PathBuf],
    remove: &[Reference],
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
        match find(manifests, reference) {
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
fn find(manifests: &Manifests, reference: &Reference) -> Result<Key, Problem> {
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
            let mut names: Vec<String> = of_kind().take(11).map(short).collect();
            let more = if names.len() > 10 { " and more" } else { "" };
            names.truncate(10);
            let there = if names.is_empty() {
                "nothing of this kind is".to_owned()
            } else {
                names.join(", ") + more
            };
            Err(Problem::of_arguments(format!(
                "--remove {reference} is not in the input; there: {there}"
            )))
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
