//! Goes through the pages of a list, object by object.

use kube::api::ListParams;
use serde::Deserialize;
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
    let page: Page<'_> = serde_json::from_str(page)?;
    for item in page.items.into_iter().flatten() {
        each(serde_json::from_str(item.get())?);
    }
    Ok(page.metadata.unwrap_or_default().next)
}

/// A page of a list. An answer without items is no list: to take it for an empty one would say that there is nothing.
#[derive(Deserialize)]
struct Page<'p> {
    /// Servers that are written in Go send null for none.
    #[serde(borrow, deserialize_with = "Option::deserialize")]
    items: Option<Vec<&'p RawValue>>,
    metadata: Option<PageMetadata>,
}

#[derive(Default, Deserialize)]
struct PageMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}
