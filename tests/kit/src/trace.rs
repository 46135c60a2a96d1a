//! The traces of `faulty-plugin`.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// One line of a trace.
#[derive(Debug, Clone, Deserialize)]
pub struct Event {
    /// CLOCK_BOOTTIME in nanoseconds.
    pub t: i64,
    /// What happened.
    pub event: String,
    /// The plugin's name.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Its `TREEWARDEN_LAUNCH`.
    pub launch: Option<String>,
    /// What belongs to the event.
    #[serde(default)]
    pub detail: Value,
}

/// All traced events, by time.
#[derive(Debug, Clone)]
pub struct Trace(pub Vec<Event>);

impl Trace {
    /// Reads a trace file; an absent one is empty.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        // A line that a killed plugin did not finish is none.
        let mut events: Vec<Event> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        events.sort_by_key(|event| event.t);
        Self(events)
    }

    /// Events of one kind of one plugin.
    pub fn of(&self, name: &str, event: &str) -> Vec<&Event> {
        self.0
            .iter()
            .filter(|one| one.name == name && one.event == event)
            .collect()
    }

    /// When the only such event happened.
    ///
    /// # Panics
    /// There is none, or several.
    #[track_caller]
    pub fn only(&self, name: &str, event: &str) -> i64 {
        match self.of(name, event).as_slice() {
            [one] => one.t,
            several => panic!(
                "{name} has {} events {event}, not one: {self:#?}",
                several.len()
            ),
        }
    }

    /// When the last such event happened.
    ///
    /// # Panics
    /// There is none.
    #[track_caller]
    pub fn last(&self, name: &str, event: &str) -> i64 {
        self.of(name, event).last().map_or_else(
            || panic!("{name} has no event {event}: {self:#?}"),
            |one| one.t,
        )
    }
}
