//! The rules of ownership: what a write does to the owners of an object's fields.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::Value;

use super::super::typed::Typed;
use super::compare::{Comparison, compare};
use super::error::Conflict;
use super::managers::{Id, Managers, Operation, Owned};
use super::merge::{merge, remove};
use super::set::FieldSet;
use super::walk::field_set;

/// Fields that the server or the request's address determines; nobody owns them.
static SYSTEM_FIELDS: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// Everything that stays the same during one write.
pub(super) struct Write<'a> {
    pub(super) id: Id,
    pub(super) api_version: &'a str,
    pub(super) ignored: &'a FieldSet,
    pub(super) typed: &'a dyn Typed,
}

impl Write<'_> {
    /// Records a finished create, replace or patch: whoever changes a field owns it, alone. Returns whether the
    /// writer changed anything.
    pub(super) fn update(&self, before: &Value, after: &Value, managers: &mut Managers) -> bool {
        self.reconcile(managers);
        let difference = compare(before, after, self.typed).without(self.ignored);
        let taken = difference.written();
        for owned in managers.fields.values_mut() {
            owned.set.subtract(&taken);
            owned.set.subtract(&difference.removed);
        }
        drop_empty(managers);
        let mut taken = taken;
        taken.subtract(&SYSTEM_FIELDS);
        if taken.is_empty() {
            return false;
        }
        let set = match managers.fields.remove(&self.id) {
            Some(previous) => previous.set.union(&taken),
            None => taken,
        };
        managers.fields.insert(
            self.id.clone(),
            Owned {
                api_version: self.api_version.to_owned(),
                set,
            },
        );
        true
    }

    /// Merges an applied configuration. Returns the new object, or `None` if it would not change.
    pub(super) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managers: &mut Managers,
        force: bool,
    ) -> Result<Option<Value>, Vec<Conflict>> {
        self.reconcile(managers);
        let merged = merge(Some(live), config, self.typed);
        let set = field_set(config, self.typed).without_subtrees(self.ignored);
        let last = managers
            .fields
            .remove(&self.id)
            .map(|owned| owned.set)
            .unwrap_or_default();
        managers.fields.insert(
            self.id.clone(),
            Owned {
                api_version: self.api_version.to_owned(),
                set,
            },
        );
        let merged = self.prune(merged, managers, &last);

        let difference = compare(live, &merged, self.typed);
        let visible = difference.without(self.ignored);
        self.take(&visible, managers, force)?;
        if let Some(owned) = managers.fields.get_mut(&self.id) {
            owned.set.subtract(&SYSTEM_FIELDS);
        }
        drop_empty(managers);
        // Not the comparison decides but equality: a new order of a list's elements changes no field.
        Ok((merged != *live).then_some(merged))
    }

    /// Takes what the applier changes from its other owners, if it may.
    fn take(
        &self,
        difference: &Comparison,
        managers: &mut Managers,
        force: bool,
    ) -> Result<(), Vec<Conflict>> {
        let written = difference.written();
        let others = || managers.fields.iter().filter(|(id, _)| **id != self.id);
        if !force {
            let conflicts: Vec<Conflict> = others()
                .flat_map(|(id, owned)| Conflict::each(id, &owned.set.intersection(&written)))
                .collect();
            if !conflicts.is_empty() {
                return Err(conflicts);
            }
        }
        for (id, owned) in &mut managers.fields {
            if *id != self.id {
                owned.set.subtract(&written);
                owned.set.subtract(&difference.removed);
            }
        }
        Ok(())
    }

    /// Removes what this applier applied before, does not apply now, and nobody else owns.
    ///
    /// `last` may know a struct only through its fields. Removing it whole first and then adding back what is owned
    /// or was never the applier's gets rid of structs that would be left empty.
    fn prune(&self, merged: Value, managers: &Managers, last: &FieldSet) -> Value {
        if last.is_empty() {
            return merged;
        }
        let named = |set: &FieldSet| set.with_named_fields(self.typed);
        let all = named(&field_set(&merged, self.typed));
        let present = |value: &Value| named(&field_set(value, self.typed));
        let last = named(last);
        let owned = managers
            .fields
            .values()
            .fold(FieldSet::default(), |all, owned| all.union(&owned.set));

        let pruned = remove(&merged, &last, self.typed);
        let kept = present(&pruned).union(&named(&owned));
        let pruned = remove(&merged, &all.difference(&kept), self.typed);
        let doomed = all.difference(&present(&pruned)).intersection(&last);
        remove(&merged, &doomed, self.typed)
    }

    fn reconcile(&self, managers: &mut Managers) {
        managers
            .fields
            .retain(|_, owned| self.typed.serves(&owned.api_version));
        for owned in managers.fields.values_mut() {
            owned.set.reconcile(self.typed);
        }
    }
}

fn drop_empty(managers: &mut Managers) {
    managers.fields.retain(|_, owned| !owned.set.is_empty());
}

/// Adds to a stored object the parts its kind always has.
pub(super) fn with_skeleton<'v>(object: &'v Value, skeleton: &Value) -> Cow<'v, Value> {
    if covers(object, skeleton) {
        return Cow::Borrowed(object);
    }
    Cow::Owned(match (object, skeleton) {
        (Value::Object(fields), Value::Object(parts)) => {
            let mut filled = fields.clone();
            for (name, part) in parts {
                let value = fields
                    .get(name)
                    .map(|value| with_skeleton(value, part).into_owned());
                filled.insert(name.clone(), value.unwrap_or_else(|| part.clone()));
            }
            Value::Object(filled)
        }
        _ => object.clone(),
    })
}

fn covers(object: &Value, skeleton: &Value) -> bool {
    match (object, skeleton) {
        (Value::Object(fields), Value::Object(parts)) => parts
            .iter()
            .all(|(name, part)| fields.get(name).is_some_and(|value| covers(value, part))),
        _ => true,
    }
}

impl Id {
    /// The entry that stands for everything written before ownership was tracked.
    pub(super) fn before_first_apply(api_version: &str, subresource: &str) -> Self {
        Self::new("before-first-apply", Operation::Update, api_version, subresource)
    }
}
