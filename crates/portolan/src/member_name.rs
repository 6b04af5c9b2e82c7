//! How the members of `portolan up --spokes` are called.

/// Name of the member with this number, from 0.
pub(crate) fn name(index: usize) -> String {
    format!("member-{}", index + 1)
}

/// The number, from 0, of the member with this name.
pub(crate) fn number(of: &str) -> Option<usize> {
    let index = of
        .strip_prefix("member-")?
        .parse::<usize>()
        .ok()?
        .checked_sub(1)?;
    (name(index) == of).then_some(index)
}
