//! The failure of a request whose answer has too many bytes.

use std::error::Error;
use std::fmt;

/// An answer has more bytes than are read.
#[derive(Debug)]
pub struct TooLarge {
    asked: String,
    most: usize,
}

impl TooLarge {
    pub(crate) fn new(asked: &str, most: usize) -> TooLarge {
        TooLarge {
            asked: asked.to_owned(),
            most,
        }
    }

    /// Whether this is why a request failed: the server was reached and answered.
    pub fn is_cause_of(error: &(dyn Error + 'static)) -> bool {
        error.is::<TooLarge>() || error.source().is_some_and(TooLarge::is_cause_of)
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooLarge { asked, most } = self;
        write!(
            formatter,
            "the server has sent more than {most} bytes as the answer to {asked}; accepted: at most {most} bytes"
        )
    }
}

impl Error for TooLarge {}
