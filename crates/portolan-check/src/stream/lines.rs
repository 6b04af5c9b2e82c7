//! Recordings as JSON lines: one event a line, the objects of the initial state first.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Event, Recording};
use crate::Object;

/// A line of a file that is not part of a recording.
#[derive(Debug)]
pub struct ReadError {
    /// Which line, from 1.
    pub line: usize,
    source: serde_json::Error,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is not an event of a recording", self.line)
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", content = "object", rename_all = "UPPERCASE")]
enum Line {
    Initial(Object),
    Added(Object),
    Modified(Object),
    Deleted(Object),
    Settled,
}

impl From<Event> for Line {
    fn from(event: Event) -> Self {
        match event {
            Event::Added(object) => Self::Added(object),
            Event::Modified(object) => Self::Modified(object),
            Event::Deleted(object) => Self::Deleted(object),
            Event::Settled => Self::Settled,
        }
    }
}

impl Recording {
    /// One line per object of the initial state (`INITIAL`) and per event.
    pub fn to_json_lines(&self) -> Result<String, serde_json::Error> {
        let initial = self.initial.objects().map(Line::Initial);
        let mut text = String::new();
        for line in initial.chain(self.events.iter().cloned().map(Line::from)) {
            text.push_str(&serde_json::to_string(&line)?);
            text.push('\n');
        }
        Ok(text)
    }

    /// Reads what [`Recording::to_json_lines`] writes. Empty lines are skipped.
    pub fn from_json_lines(text: &str) -> Result<Self, ReadError> {
        let mut recording = Self::default();
        for (place, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
        {
            let line = serde_json::from_str(line).map_err(|source| ReadError {
                line: place + 1,
                source,
            })?;
            let event = match line {
                Line::Initial(object) => {
                    recording.initial.put(object);
                    continue;
                }
                Line::Added(object) => Event::Added(object),
                Line::Modified(object) => Event::Modified(object),
                Line::Deleted(object) => Event::Deleted(object),
                Line::Settled => Event::Settled,
            };
            recording.events.push(event);
        }
        Ok(recording)
    }
}
