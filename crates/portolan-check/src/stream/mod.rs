//! A recorded watch, and the checks that need all of it.
//!
//! [`check`] runs everything that a recording decides by itself. [`stays_present`] and [`revisions_sound`] take what the
//! caller knows about the answers, which is needed for a recording that was cut by a crash.

mod groups;
mod lines;
mod presence;
mod sound;
mod whole;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use lines::ReadError;
pub use presence::{Gap, gaps, no_gaps, stays_present};
pub use sound::{Soundness, revisions_sound};
pub use whole::check;

use crate::{Object, State};

/// One event of a watch, or the mark that the writer had nothing left to do.
///
/// Serialises like an event of the Kubernetes API: `{"type":"ADDED","object":{…}}`; the mark is `{"type":"SETTLED"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "object", rename_all = "UPPERCASE")]
pub enum Event {
    /// The object came into being.
    Added(Object),
    /// The object was written.
    Modified(Object),
    /// The object is gone.
    Deleted(Object),
    /// Nothing is under way: a transition ends here and the next begins.
    Settled,
}

impl Event {
    /// The object of the event.
    pub fn object(&self) -> Option<&Object> {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => Some(object),
            Self::Settled => None,
        }
    }

    /// What the object is after the event.
    pub(crate) fn present(&self) -> Option<&Object> {
        match self {
            Self::Added(object) | Self::Modified(object) => Some(object),
            Self::Deleted(_) | Self::Settled => None,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(object) => write!(f, "ADDED {}", object.key()),
            Self::Modified(object) => write!(f, "MODIFIED {}", object.key()),
            Self::Deleted(object) => write!(f, "DELETED {}", object.key()),
            Self::Settled => f.write_str("SETTLED"),
        }
    }
}

/// A watch as one reader saw it: a list, then events in order. The initial state counts as settled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// What the list returned.
    pub initial: State,
    /// What the watch brought, with marks.
    pub events: Vec<Event>,
}

/// One prefix of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Prefix<'a> {
    /// How many events it has; 0 is the initial state.
    pub length: usize,
    /// Its last event.
    pub event: Option<&'a Event>,
    /// What that event replaced or deleted.
    pub replaced: Option<&'a Object>,
    /// The state after it.
    pub state: &'a State,
}

impl Recording {
    /// A recording that starts at this state.
    pub fn starting_at(initial: State) -> Self {
        Self {
            initial,
            events: Vec::new(),
        }
    }

    /// Shows every prefix to `visit`, the initial state first.
    pub fn replay(&self, mut visit: impl FnMut(Prefix<'_>)) {
        let mut state = self.initial.clone();
        visit(Prefix {
            length: 0,
            event: None,
            replaced: None,
            state: &state,
        });
        for (place, event) in self.events.iter().enumerate() {
            let replaced = apply(&mut state, event);
            let prefix = Prefix {
                length: place + 1,
                event: Some(event),
                replaced: replaced.as_ref(),
                state: &state,
            };
            visit(prefix);
        }
    }

    /// The state after each prefix, the initial state first. For long recordings [`Recording::replay`] copies less.
    pub fn states(&self) -> impl Iterator<Item = State> + '_ {
        let later = self.events.iter().scan(self.initial.clone(), |state, event| {
            apply(state, event);
            Some(state.clone())
        });
        std::iter::once(self.initial.clone()).chain(later)
    }

    /// The state after the last event.
    pub fn last(&self) -> State {
        let mut state = self.initial.clone();
        for event in &self.events {
            apply(&mut state, event);
        }
        state
    }
}

fn apply(state: &mut State, event: &Event) -> Option<Object> {
    match event {
        Event::Added(object) | Event::Modified(object) => state.put(object.clone()),
        Event::Deleted(object) => state.remove(&object.key()),
        Event::Settled => None,
    }
}
