//! What is wrong with objects of one kind, grouped by what is wrong.

use std::collections::BTreeMap;

use super::{Check, names};

/// Causes that get a check of their own. More would bury the first one.
const CAUSES: usize = 4;

/// One object that has a problem.
#[derive(Debug)]
pub(super) struct Complaint {
    pub(super) object: String,
    /// What is wrong with it.
    pub(super) words: String,
    /// What to do about it.
    pub(super) advice: String,
}

/// One check for each cause, so that none hides another; the objects of a cause by name.
pub(super) fn concluded(name: &'static str, fine: String, complaints: Vec<Complaint>) -> Vec<Check> {
    if complaints.is_empty() {
        return vec![Check::ok(name, fine)];
    }
    let mut causes: Vec<(Complaint, Vec<String>)> = Vec::new();
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    for complaint in complaints {
        match positions.get(&complaint.words) {
            Some(position) => causes[*position].1.push(complaint.object),
            None => {
                positions.insert(complaint.words.clone(), causes.len());
                causes.push((complaint, Vec::new()));
            }
        }
    }
    let others = causes.split_off(causes.len().min(CAUSES));
    let mut checks: Vec<Check> = causes
        .into_iter()
        .map(|(first, same)| {
            let same = match same.is_empty() {
                true => String::new(),
                false => format!("; the same for {}", names(same.iter().map(String::as_str))),
            };
            let found = format!("{}: {}{same}", first.object, first.words);
            Check::problem(name, found, first.advice)
        })
        .collect();
    if let Some((first, _)) = others.first() {
        let advice = format!(
            "`portolan doctor {}` checks the first of them alone",
            first.object
        );
        let objects = others.iter().flat_map(|(first, same)| {
            let first = std::iter::once(first.object.as_str());
            first.chain(same.iter().map(String::as_str))
        });
        checks.push(Check::problem(
            name,
            format!("other problems with {}", names(objects)),
            advice,
        ));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(object: &str, words: &str) -> Complaint {
        Complaint {
            object: object.to_owned(),
            words: words.to_owned(),
            advice: format!("look at {object}"),
        }
    }

    #[test]
    fn each_cause_is_said_once_with_the_objects_that_have_it() {
        let complaints = vec![
            complaint("a/1", "no quota"),
            complaint("a/2", "no right"),
            complaint("a/3", "no quota"),
        ];
        let checks = concluded("works", String::new(), complaints);
        let said: Vec<(&str, Option<&str>)> = checks
            .iter()
            .map(|check| (check.found.as_str(), check.advice.as_deref()))
            .collect();
        assert_eq!(
            said,
            [
                ("a/1: no quota; the same for a/3", Some("look at a/1")),
                ("a/2: no right", Some("look at a/2"))
            ]
        );
    }

    #[test]
    fn the_objects_of_further_causes_are_named() {
        let complaints = (1..=6).map(|number| complaint(&format!("a/{number}"), &format!("cause {number}")));
        let checks = concluded("works", String::new(), complaints.collect());
        assert_eq!(checks.len(), CAUSES + 1);
        assert_eq!(checks[CAUSES].found, "other problems with a/5, a/6");
    }
}
