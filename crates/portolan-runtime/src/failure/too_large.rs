//! The failure of a request whose answer has too many bytes.

use std::error::Error;
use std::fmt;

/// A server has sent more than is read. It was reached and has answered.
#[derive(Debug)]
pub enum TooLarge {
    /// One answer. With fewer objects in it, it may not be too large.
    Answer {
        /// The method and the path.
        asked: String,
        /// Bytes that are read.
        most: usize,
    },
    /// The pages of one list together.
    List {
        /// The method and the path.
        asked: String,
        /// Bytes that are read.
        most: u64,
    },
}

impl TooLarge {
    /// Whether this is why a request failed.
    pub fn is_cause_of(error: &(dyn Error + 'static)) -> bool {
        error.is::<TooLarge>() || error.source().is_some_and(TooLarge::is_cause_of)
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooLarge::Answer { asked, most } => write!(
                formatter,
                "the server has sent more than {most} bytes as the answer to {asked}; accepted: at most {most} bytes"
            ),
            TooLarge::List { asked, most } => write!(
                formatter,
                "the server has sent more than {most} bytes in the pages of {asked}, and they do not end; accepted: a list of \
                 at most {most} bytes"
            ),
        }
    }
}

impl Error for TooLarge {}
