//! Lists. Most are told apart element by element; those of a Kubernetes schema may be sets, or be keyed by fields of
//! their elements, and are then equal whatever their order and merge instead of growing.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use super::{Key, Val, equal};
use crate::budget::Meter;
use crate::error::Failure;

/// What makes two elements of a list the same element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// Their place.
    Place,
    /// Their value.
    Value,
    /// These fields.
    Keys(Arc<[Arc<str>]>),
}

/// The elements of a list in their order.
#[derive(Clone, Debug)]
pub(crate) struct List {
    elements: Vec<Val>,
    identity: Identity,
}

impl Deref for List {
    type Target = [Val];

    fn deref(&self) -> &[Val] {
        &self.elements
    }
}

/// What an element is found by; `None` for a key field it does not have.
type Mark = Vec<Option<Key>>;

impl List {
    pub(crate) fn new(elements: Vec<Val>, identity: Identity) -> List {
        List { elements, identity }
    }

    /// Equality as the left list defines it.
    pub(super) fn equals(&self, other: &List, meter: &mut Meter<'_>) -> Result<bool, Failure> {
        if self.len() != other.len() {
            return Ok(false);
        }
        if self.identity == Identity::Place {
            return self.equals_in_order(other, meter);
        }
        let Some(own) = self.marked(meter)? else {
            return self.equals_one_by_one(other, meter);
        };
        for element in other.iter() {
            meter.charge(1)?;
            let found = match self.mark(element, meter)? {
                Some(mark) => own.get(&mark),
                None => None,
            };
            match found {
                Some(found) if equal(found, element, meter)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// `self + other`: sets and keyed lists keep their order, take over what is new and append the rest.
    pub(crate) fn plus(&self, other: &List, meter: &mut Meter<'_>) -> Result<List, Failure> {
        meter.charge_elements(self.len() + other.len())?;
        let mut elements = self.elements.clone();
        if self.identity == Identity::Place {
            elements.extend(other.iter().cloned());
            return Ok(List::new(elements, Identity::Place));
        }
        let mut places: BTreeMap<Mark, usize> = BTreeMap::new();
        for (place, element) in self.iter().enumerate() {
            if let Some(mark) = self.mark(element, meter)? {
                places.insert(mark, place);
            }
        }
        for element in other.iter() {
            let mark = self.mark(element, meter)?;
            match mark.as_ref().and_then(|mark| places.get(mark)) {
                Some(place) => elements[*place] = element.clone(),
                None => {
                    if let Some(mark) = mark {
                        places.insert(mark, elements.len());
                    }
                    elements.push(element.clone());
                }
            }
        }
        Ok(List::new(elements, self.identity.clone()))
    }

    fn equals_in_order(&self, other: &List, meter: &mut Meter<'_>) -> Result<bool, Failure> {
        for (left, right) in self.iter().zip(other.iter()) {
            meter.charge(1)?;
            if !equal(left, right, meter)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// For sets of what cannot be looked up, such as doubles.
    fn equals_one_by_one(&self, other: &List, meter: &mut Meter<'_>) -> Result<bool, Failure> {
        for element in other.iter() {
            let mut found = false;
            for own in self.iter() {
                meter.charge(1)?;
                found = equal(own, element, meter)?;
                if found {
                    break;
                }
            }
            if !found {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// All elements by their marks, or `None` if some have none.
    fn marked(&self, meter: &mut Meter<'_>) -> Result<Option<BTreeMap<Mark, &Val>>, Failure> {
        let mut marked = BTreeMap::new();
        for element in self.iter() {
            meter.charge(1)?;
            match self.mark(element, meter)? {
                Some(mark) => marked.insert(mark, element),
                None => return Ok(None),
            };
        }
        Ok(Some(marked))
    }

    fn mark(&self, element: &Val, meter: &mut Meter<'_>) -> Result<Option<Mark>, Failure> {
        let mark = match &self.identity {
            Identity::Place => None,
            Identity::Value => Key::from_val(element).map(|key| vec![Some(key)]),
            Identity::Keys(names) => match element {
                Val::Map(map) => {
                    let keys = names.iter().map(|name| map.field(name).and_then(Key::from_val));
                    Some(keys.collect::<Mark>())
                }
                _ => None,
            },
        };
        for key in mark.iter().flatten().flatten() {
            if let Key::String(text) = key {
                meter.charge_text(text.len())?;
            }
        }
        Ok(mark)
    }
}
