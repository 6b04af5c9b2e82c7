//! Field sets: which parts of an object somebody owns.

use std::collections::BTreeMap;

use super::super::typed::{Kind, Typed, child, item};
use super::path::PathElement;

/// A set of paths. A path may be a member, lead to members, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    pub(super) nodes: BTreeMap<PathElement, Node>,
}

/// One path element of a set. Never neither owned nor with something below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) owned: bool,
    pub(super) below: FieldSet,
}

impl Node {
    fn is_void(&self) -> bool {
        !self.owned && self.below.is_empty()
    }
}

impl FieldSet {
    /// The set of these paths of field names.
    pub(crate) fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(
                &path
                    .iter()
                    .map(|name| PathElement::field(*name))
                    .collect::<Vec<_>>(),
            );
        }
        set
    }

    /// Whether no path is a member.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Makes a path a member. Nobody owns the whole object, so the empty path does nothing.
    pub(crate) fn insert(&mut self, path: &[PathElement]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let node = self.nodes.entry(first.clone()).or_default();
        if rest.is_empty() {
            node.owned = true;
        } else {
            node.below.insert(rest);
        }
    }

    /// Whether the path is a member.
    pub(crate) fn contains(&self, path: &[PathElement]) -> bool {
        match path.split_first() {
            None => false,
            Some((first, [])) => self.nodes.get(first).is_some_and(|node| node.owned),
            Some((first, rest)) => self
                .nodes
                .get(first)
                .is_some_and(|node| node.below.contains(rest)),
        }
    }

    /// All members, parents before children.
    pub(crate) fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut found = Vec::new();
        self.collect_paths(&mut Vec::new(), &mut found);
        found
    }

    fn collect_paths(&self, prefix: &mut Vec<PathElement>, found: &mut Vec<Vec<PathElement>>) {
        for (element, node) in &self.nodes {
            prefix.push(element.clone());
            if node.owned {
                found.push(prefix.clone());
            }
            node.below.collect_paths(prefix, found);
            prefix.pop();
        }
    }

    /// The members of either.
    pub(crate) fn union(mut self, other: &Self) -> Self {
        for (element, theirs) in &other.nodes {
            match self.nodes.get_mut(element) {
                None => {
                    self.nodes.insert(element.clone(), theirs.clone());
                }
                Some(ours) => {
                    ours.owned |= theirs.owned;
                    ours.below = std::mem::take(&mut ours.below).union(&theirs.below);
                }
            }
        }
        self
    }

    /// The members of both.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |ours, theirs| {
            let theirs = theirs?;
            Some(Node {
                owned: ours.owned && theirs.owned,
                below: ours.below.intersection(&theirs.below),
            })
        })
    }

    /// The members of this that are no members of the other.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        self.combine(other, |ours, theirs| {
            Some(match theirs {
                None => ours.clone(),
                Some(theirs) => Node {
                    owned: ours.owned && !theirs.owned,
                    below: ours.below.difference(&theirs.below),
                },
            })
        })
    }

    /// The members of this that are neither members of the other nor below one.
    pub(crate) fn without_subtrees(&self, other: &Self) -> Self {
        self.combine(other, |ours, theirs| match theirs {
            None => Some(ours.clone()),
            Some(theirs) if theirs.owned => None,
            Some(theirs) => Some(Node {
                owned: ours.owned,
                below: ours.below.without_subtrees(&theirs.below),
            }),
        })
    }

    fn combine(&self, other: &Self, node: impl Fn(&Node, Option<&Node>) -> Option<Node>) -> Self {
        let nodes = self.nodes.iter().filter_map(|(element, ours)| {
            let combined = node(ours, other.nodes.get(element))?;
            (!combined.is_void()).then(|| (element.clone(), combined))
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// This set with every declared field on the way to a member made a member. Declared fields are not members by
    /// themselves, but when all of their contents go, they must go too.
    pub(super) fn with_named_fields(&self, typed: &dyn Typed) -> Self {
        let nodes = self.nodes.iter().map(|(element, node)| {
            let (named, inner) = match element {
                PathElement::Field(name) => (typed.field(name).is_some(), child(typed, name)),
                _ => (false, item(typed)),
            };
            let owned = node.owned || (named && !node.below.is_empty());
            (
                element.clone(),
                Node {
                    owned,
                    below: node.below.with_named_fields(inner),
                },
            )
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// Takes out what is a member of the other.
    pub(super) fn subtract(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.nodes.retain(|element, ours| {
            if let Some(theirs) = other.nodes.get(element) {
                ours.owned &= !theirs.owned;
                ours.below.subtract(&theirs.below);
            }
            !ours.is_void()
        });
    }

    /// Adapts this set to a schema that changed since it was written: what became atomic is owned as one. What
    /// became granular needs nothing: its owner keeps the field itself and none of its parts.
    pub(super) fn reconcile(&mut self, typed: &dyn Typed) {
        for (element, node) in &mut self.nodes {
            let inner = match element {
                PathElement::Field(name) => child(typed, name),
                _ => item(typed),
            };
            node.reconcile(inner);
        }
    }
}

impl Node {
    fn reconcile(&mut self, typed: &dyn Typed) {
        match typed.kind() {
            Kind::Scalar | Kind::Deduced => {}
            Kind::AtomicMap | Kind::AtomicList => {
                self.owned = true;
                self.below = FieldSet::default();
            }
            Kind::Granular | Kind::Set | Kind::KeyedList(_) => self.below.reconcile(typed),
        }
    }
}
