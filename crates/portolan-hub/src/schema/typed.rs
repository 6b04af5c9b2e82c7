//! A schema as patches see it: how values merge.

use super::{Kind, ListType, Schema};
use crate::patch::{self, Deduced, ScalarType, Typed};

static DEDUCED: Deduced = Deduced;

impl Typed for Schema {
    fn kind(&self) -> patch::Kind<'_> {
        if self.int_or_string || self.quantity {
            return patch::Kind::Scalar;
        }
        match self.kind {
            Some(Kind::Object) if self.atomic => patch::Kind::AtomicMap,
            Some(Kind::Object) => patch::Kind::Granular,
            Some(Kind::Array) => match &self.list {
                ListType::Atomic => patch::Kind::AtomicList,
                ListType::Set => patch::Kind::Set,
                ListType::Map(keys) => patch::Kind::KeyedList(keys),
            },
            Some(Kind::String | Kind::Integer | Kind::Number | Kind::Boolean) => patch::Kind::Scalar,
            None => patch::Kind::Deduced,
        }
    }

    fn scalar(&self) -> Option<ScalarType> {
        match self.kind? {
            _ if self.int_or_string => None,
            Kind::Boolean => Some(ScalarType::Boolean),
            Kind::Integer | Kind::Number => Some(ScalarType::Numeric),
            Kind::String => Some(ScalarType::Text),
            Kind::Object | Kind::Array => None,
        }
    }

    fn field(&self, name: &str) -> Option<&dyn Typed> {
        self.properties.get(name).map(|field| &**field as &dyn Typed)
    }

    fn element(&self) -> Option<&dyn Typed> {
        if let Some(items) = &self.items {
            return Some(&**items);
        }
        if let Some(additional) = &self.additional {
            return Some(&**additional);
        }
        (self.preserve_unknown || self.kind.is_none() || self.embedded_resource)
            .then_some(&DEDUCED as &dyn Typed)
    }

    fn default(&self) -> Option<&serde_json::Value> {
        self.default.as_ref()
    }
}
