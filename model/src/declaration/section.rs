//! Reading a map key by key: what is not asked for is unknown, and everything that is wrong is reported, not only the first.

use std::time::Duration;

use serde_json::{Map, Value};

use super::problem::{Fault, KeyPath, Problems, Shown};
use crate::quantity;

/// A map that is being read. [`Section::finish`] reports the keys that nobody asked for.
#[derive(Debug)]
pub struct Section<'a> {
    path: KeyPath,
    map: Option<&'a Map<String, Value>>,
    known: Vec<&'static str>,
}

impl<'a> Section<'a> {
    /// Opens the map at `path`. What is absent or empty is a map without keys; anything but a map is reported, and then reads like one.
    pub fn open(path: KeyPath, value: Option<&'a Value>, problems: &mut Problems) -> Self {
        let map = match value {
            None | Some(Value::Null) => None,
            Some(Value::Object(map)) => Some(map),
            Some(other) => {
                problems.report(path.clone(), wrong_kind(other, "a map of keys and values"));
                None
            }
        };
        Self {
            path,
            map,
            known: Vec::new(),
        }
    }

    /// Its own path.
    pub fn path(&self) -> &KeyPath {
        &self.path
    }

    /// The path of one of its keys.
    pub fn at(&self, key: &str) -> KeyPath {
        self.path.key(key)
    }

    /// The value under `key`, which is known from now on.
    pub fn take(&mut self, key: &'static str) -> Option<&'a Value> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.map?.get(key)
    }

    /// The map under `key`, opened.
    pub fn section(&mut self, key: &'static str, problems: &mut Problems) -> Self {
        let value = self.take(key);
        Self::open(self.at(key), value, problems)
    }

    /// The list under `key`; empty when absent or no list (which is reported).
    pub fn list(
        &mut self,
        key: &'static str,
        expected: &'static str,
        problems: &mut Problems,
    ) -> &'a [Value] {
        match self.take(key) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) => items,
            Some(other) => {
                problems.report(self.at(key), wrong_kind(other, expected));
                &[]
            }
        }
    }

    /// The text under `key`; never empty.
    pub fn text(
        &mut self,
        key: &'static str,
        expected: &'static str,
        problems: &mut Problems,
    ) -> Option<&'a str> {
        match self.take(key)? {
            Value::String(text) if !text.is_empty() => Some(text),
            other => {
                problems.report(self.at(key), wrong_kind(other, expected));
                None
            }
        }
    }

    /// The path of a file or folder under `key`: a text without NUL.
    pub fn file(&mut self, key: &'static str, problems: &mut Problems) -> Option<&'a str> {
        let text = self.text(key, "a path", problems)?;
        if text.contains('\0') {
            problems.report(
                self.at(key),
                Fault::Refused("a path can't contain NUL; remove it".to_owned()),
            );
            return None;
        }
        Some(text)
    }

    /// `true` or `false` under `key`.
    pub fn flag(&mut self, key: &'static str, problems: &mut Problems) -> Option<bool> {
        match self.take(key)? {
            Value::Bool(flag) => Some(*flag),
            other => {
                problems.report(self.at(key), wrong_kind(other, "true or false"));
                None
            }
        }
    }

    /// The duration under `key`, longer than zero (SUP-27).
    pub fn positive_duration(
        &mut self,
        key: &'static str,
        problems: &mut Problems,
    ) -> Option<Duration> {
        let text = self.quantity(key, "a duration such as \"30 seconds\"", problems)?;
        quantity::positive_duration(&text)
            .map_err(|error| problems.report(self.at(key), error))
            .ok()
    }

    /// The size under `key`, in bytes.
    pub fn size(&mut self, key: &'static str, problems: &mut Problems) -> Option<u64> {
        let text = self.quantity(
            key,
            "a size such as \"256 MiB\", or a number of bytes",
            problems,
        )?;
        quantity::size(&text)
            .map_err(|error| problems.report(self.at(key), error))
            .ok()
    }

    /// Reports every key that nobody asked for.
    pub fn finish(self, problems: &mut Problems) {
        for key in self.map.into_iter().flat_map(Map::keys) {
            if !self.known.contains(&key.as_str()) {
                let meant = self
                    .known
                    .iter()
                    .copied()
                    .filter(|known| similar(known, key))
                    .min_by_key(|known| distance(known, key));
                problems.report(
                    self.path.key(key),
                    Fault::UnknownKey {
                        meant,
                        known: self.known.clone(),
                    },
                );
            }
        }
    }

    /// A number is read like the text it is written as, so that the message about a missing unit is the same.
    fn quantity(
        &mut self,
        key: &'static str,
        expected: &'static str,
        problems: &mut Problems,
    ) -> Option<String> {
        match self.take(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            other => {
                problems.report(self.at(key), wrong_kind(other, expected));
                None
            }
        }
    }
}

/// The fault of a value of the wrong kind. Repeats the value: not for secrets.
pub fn wrong_kind(value: &Value, expected: &'static str) -> Fault {
    let found = match value {
        Value::String(text) if text.is_empty() => "an empty text".to_owned(),
        Value::String(text) => format!("the text {}", Shown(text)),
        Value::Number(number) => format!("the number {number}"),
        Value::Bool(flag) => flag.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => kind(value).to_owned(),
    };
    Fault::WrongKind { found, expected }
}

/// What kind of value this is, without the value.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "an empty value",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

/// Whether a key was probably meant to be the known one.
fn similar(known: &str, key: &str) -> bool {
    key.len() <= 2 * known.len() && distance(known, key) <= known.len() / 3
}

/// Levenshtein's distance in bytes, a row at a time.
fn distance(known: &str, key: &str) -> usize {
    let mut row: Vec<usize> = (0..=known.len()).collect();
    for (line, byte) in key.bytes().enumerate() {
        let mut diagonal = line;
        let mut left = line.saturating_add(1);
        let mut next = vec![left];
        for (other, above) in known.bytes().zip(row.iter().skip(1)) {
            let cost = usize::from(other != byte);
            left = diagonal
                .saturating_add(cost)
                .min(above.saturating_add(1))
                .min(left.saturating_add(1));
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
