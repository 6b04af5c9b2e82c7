//! Names of decision objects, to find one among thousands: a search through all of them for each would take the square of them.

use std::hash::{Hash, Hasher};

/// The kinds of decision objects.
pub(super) const OCM: &str = "ocm";
pub(super) const KEP: &str = "kep";

/// A decision object of one placement.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectName<'a> {
    /// [`OCM`] or [`KEP`].
    pub(super) kind: &'static str,
    pub(super) name: Option<&'a str>,
    /// Without it, the object of this name whatever its UID is.
    pub(super) uid: Option<&'a str>,
}

impl PartialEq for ObjectName<'_> {
    fn eq(&self, other: &Self) -> bool {
        #[cfg(test)]
        tests::COMPARED.with(|compared| compared.set(compared.get() + 1));
        (self.kind, self.name, self.uid) == (other.kind, other.name, other.uid)
    }
}

impl Eq for ObjectName<'_> {}

impl Hash for ObjectName<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.kind, self.name, self.uid).hash(state);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    thread_local! {
        /// How often two names were compared in this thread.
        pub(in crate::placements) static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    /// How often names are compared meanwhile.
    pub(in crate::placements) fn compared(during: impl FnOnce()) -> usize {
        let before = COMPARED.get();
        during();
        COMPARED.get() - before
    }
}
