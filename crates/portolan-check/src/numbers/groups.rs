//! Decision groups and the slices they are cut into.

use std::collections::BTreeSet;

/// `clustersPerDecisionGroup` as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupSize<'a> {
    /// Not set.
    Unset,
    /// A number.
    Number(i64),
    /// Text: a percentage, or a number in quotes.
    Text(&'a str),
}

/// The largest size of a group out of `total` selected clusters. `None` when the text is neither a percentage nor a
/// number.
///
/// A percentage is `ceil(p / 100 * total)` in floating point, in that order, so 7 % of 100 is 8. What is not in
/// 1..=total means all.
pub fn group_size(size: GroupSize<'_>, total: usize) -> Option<usize> {
    let size = match size {
        GroupSize::Unset => 0,
        GroupSize::Number(number) => number,
        GroupSize::Text(text) => match text.strip_suffix('%') {
            Some(percentage) => (percentage.parse::<f64>().ok()? / 100.0 * total as f64).ceil() as i64,
            // OCM refuses a number in quotes at run time and drops the decision; Portolan takes it as the number.
            None => text.parse().ok()?,
        },
    };
    let fits = usize::try_from(size)
        .ok()
        .filter(|size| (1..=total).contains(size));
    Some(fits.unwrap_or(total))
}

/// A group that the spec names, and which selected clusters match it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedGroup {
    /// Name of the group.
    pub name: String,
    /// The selected clusters that match, whether or not an earlier group takes them.
    pub matches: BTreeSet<String>,
}

/// The groups of a selection: named ones first, in the order of the spec, each taking what is not yet taken; then the
/// rest without a name; all by name in chunks of `size`. Nothing selected is one empty group.
pub fn group_cuts(
    selected: &BTreeSet<String>,
    named: &[NamedGroup],
    size: usize,
) -> Vec<(String, Vec<String>)> {
    let size = size.max(1);
    let mut left = selected.clone();
    let mut groups = Vec::new();
    for group in named {
        let taken: Vec<String> = left.intersection(&group.matches).cloned().collect();
        left.retain(|cluster| !group.matches.contains(cluster));
        groups.extend(
            taken
                .chunks(size)
                .map(|chunk| (group.name.clone(), chunk.to_vec())),
        );
    }
    let rest: Vec<String> = left.into_iter().collect();
    groups.extend(rest.chunks(size).map(|chunk| (String::new(), chunk.to_vec())));
    if groups.is_empty() {
        groups.push((String::new(), Vec::new()));
    }
    groups
}

/// The OCM objects of a placement at rest: name, group index and clusters of each, 100 at most, numbered from 1 over
/// all groups. An empty group has one empty object.
pub fn ocm_slices(placement: &str, groups: &[(String, Vec<String>)]) -> Vec<(String, usize, Vec<String>)> {
    let mut slices = Vec::new();
    for (index, (_, clusters)) in groups.iter().enumerate() {
        let chunks: Vec<&[String]> = if clusters.is_empty() {
            vec![&[]]
        } else {
            clusters.chunks(100).collect()
        };
        for chunk in chunks {
            slices.push((
                format!("{placement}-decision-{}", slices.len() + 1),
                index,
                chunk.to_vec(),
            ));
        }
    }
    slices
}
