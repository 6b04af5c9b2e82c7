//! Goes through the pages of a list, object by object.

use std::collections::BTreeMap;

use kube::api::ListParams;
use serde_json::Value;
use serde_json::value::RawValue;

/// The page of a list that is to be asked for.
#[derive(Debug)]
pub(crate) struct Pages(ListParams);

impl Pages {
    /// The first page, with at most so many objects.
    pub(crate) fn of(limit: u32) -> Pages {
        Pages(ListParams::default().limit(limit))
    }

    pub(crate) fn params(&self) -> &ListParams {
        &self.0
    }

    pub(crate) fn is_first(&self) -> bool {
        self.0.continue_token.is_none()
    }

    /// Goes on to the page of this token, if there is another page.
    pub(crate) fn advance(&mut self, token: Option<String>) -> bool {
        self.0.continue_token = token.filter(|token| !token.is_empty());
        !self.is_first()
    }
}

/// Passes on each object of a page, and returns the token of the next page. Only one object is in memory beside the text.
pub(super) fn read_page(
    page: &str,
    each: &mut impl FnMut(Value),
) -> Result<Option<String>, serde_json::Error> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(page)?;
    if let Some(items) = fields.get("items") {
        let items: Option<Vec<&RawValue>> = serde_json::from_str(items.get())?;
        for item in items.into_iter().flatten() {
            each(serde_json::from_str(item.get())?);
        }
    }
    let Some(metadata) = fields.get("metadata") else {
        return Ok(None);
    };
    let mut metadata: Value = serde_json::from_str(metadata.get())?;
    Ok(match metadata["continue"].take() {
        Value::String(token) => Some(token),
        _ => None,
    })
}
