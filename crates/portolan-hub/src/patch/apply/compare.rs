//! What changed between two versions of an object, as field sets.

use serde_json::{Map, Value};

use super::super::typed::{Key, Typed, child, item};
use super::path::PathElement;
use super::set::FieldSet;
use super::walk::{Shape, index, shape};

/// The difference between two objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) added: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) removed: FieldSet,
}

impl Comparison {
    /// What the later object's author wrote.
    pub(super) fn written(&self) -> FieldSet {
        self.added.clone().union(&self.modified)
    }

    /// The difference without these fields and all below them.
    pub(super) fn without(&self, ignored: &FieldSet) -> Self {
        Self {
            added: self.added.without_subtrees(ignored),
            modified: self.modified.without_subtrees(ignored),
            removed: self.removed.without_subtrees(ignored),
        }
    }
}

/// Compares two objects. Their managed fields are no part of it.
pub(super) fn compare(before: &Value, after: &Value, typed: &dyn Typed) -> Comparison {
    let mut comparer = Comparer {
        path: Vec::new(),
        found: Comparison::default(),
    };
    comparer.pair(Some(before), Some(after), typed);
    comparer.found
}

struct Comparer {
    path: Vec<PathElement>,
    found: Comparison,
}

impl Comparer {
    fn pair(&mut self, before: Option<&Value>, after: Option<&Value>, typed: &dyn Typed) {
        match (before, after) {
            // Most of an object does not change; equal parts need no walk.
            (Some(before), Some(after)) if before == after => {}
            (Some(before), Some(after)) => self.changed(before, after, typed),
            (Some(value), None) | (None, Some(value)) => self.one_sided(value, before.is_none(), typed),
            (None, None) => {}
        }
    }

    /// A part that only one side has: its contents and itself are added or removed.
    fn one_sided(&mut self, value: &Value, added: bool, typed: &dyn Typed) {
        let sides = |value| {
            if added {
                (None, Some(value))
            } else {
                (Some(value), None)
            }
        };
        match (shape(typed, value), value) {
            (Shape::Object, Value::Object(fields)) => {
                for (name, value) in fields {
                    let (before, after) = sides(value);
                    self.below(PathElement::field(name), before, after, child(typed, name));
                }
            }
            (Shape::List(keys), Value::Array(items)) => {
                let (before, after): (&[Value], &[Value]) = if added { (&[], items) } else { (items, &[]) };
                self.items(before, after, typed, keys);
            }
            _ => {}
        }
        let set = if added {
            &mut self.found.added
        } else {
            &mut self.found.removed
        };
        set.insert(&self.path);
    }

    fn changed(&mut self, before: &Value, after: &Value, typed: &dyn Typed) {
        let none = Map::new();
        let fields = |value: &Value| value.as_object().is_some_and(|fields| !fields.is_empty());
        let items = |value: &Value| !list(value).is_empty();
        match (shape(typed, before), shape(typed, after)) {
            (Shape::Object, Shape::Object) if fields(before) || fields(after) => {
                let empty = &none;
                self.fields(
                    before.as_object().unwrap_or(empty),
                    after.as_object().unwrap_or(empty),
                    typed,
                );
            }
            (Shape::List(keys), Shape::List(_)) if items(before) || items(after) => {
                self.items(list(before), list(after), typed, keys);
            }
            // Where the schema leaves the type open, a value may change it: the old contents go, the new ones come.
            (Shape::Object, Shape::Leaf) if before.is_object() => {
                self.fields(before.as_object().unwrap_or(&none), &none, typed);
                self.found.modified.insert(&self.path);
            }
            (Shape::Leaf, Shape::Object) if after.is_object() => {
                self.fields(&none, after.as_object().unwrap_or(&none), typed);
                self.found.modified.insert(&self.path);
            }
            _ => self.found.modified.insert(&self.path),
        }
    }

    fn fields(&mut self, before: &Map<String, Value>, after: &Map<String, Value>, typed: &dyn Typed) {
        for (name, value) in before {
            // Looked at before a path is made of it: most of an object does not change.
            if self.is_managed_fields(name) || after.get(name) == Some(value) {
                continue;
            }
            self.below(
                PathElement::field(name),
                Some(value),
                after.get(name),
                child(typed, name),
            );
        }
        for (name, value) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
            if self.is_managed_fields(name) {
                continue;
            }
            self.below(PathElement::field(name), None, Some(value), child(typed, name));
        }
    }

    fn is_managed_fields(&self, name: &str) -> bool {
        name == "managedFields"
            && matches!(self.path.as_slice(), [PathElement::Field(parent)] if parent == "metadata")
    }

    fn items(&mut self, before: &[Value], after: &[Value], typed: &dyn Typed, keys: &[Key]) {
        let (before, after) = (index(typed, keys, before), index(typed, keys, after));
        for (element, old) in &before {
            let new = after.get(element).map_or(&[][..], Vec::as_slice);
            self.elements(element, old, new, typed);
        }
        for (element, new) in after.iter().filter(|(element, _)| !before.contains_key(*element)) {
            self.elements(element, &[], new, typed);
        }
    }

    /// Elements of one name: normally one on each side. Several cannot be told apart and count as one leaf.
    fn elements(&mut self, element: &PathElement, old: &[&Value], new: &[&Value], typed: &dyn Typed) {
        if old.len() <= 1 && new.len() <= 1 {
            self.below(
                element.clone(),
                old.first().copied(),
                new.first().copied(),
                item(typed),
            );
            return;
        }
        if old == new {
            return;
        }
        self.path.push(element.clone());
        let set = match (old, new) {
            ([], _) => &mut self.found.added,
            (_, []) => &mut self.found.removed,
            _ => &mut self.found.modified,
        };
        set.insert(&self.path);
        self.path.pop();
    }

    fn below(
        &mut self,
        element: PathElement,
        before: Option<&Value>,
        after: Option<&Value>,
        typed: &dyn Typed,
    ) {
        self.path.push(element);
        self.pair(before, after, typed);
        self.path.pop();
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
