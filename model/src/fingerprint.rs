//! A short name for what a process can notice of its declaration.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::declaration::{Declaration, EnvValue, Limits, Placement, Source};

/// SHA-256 over all of a declaration that a process can notice: `retry` is no part of it (SUP-01).
///
/// It tells, after a restart of the node, whether an entry is still declared as it was when it was stopped (SUP-39).
/// Literal environment values go in, so two declarations that differ in a secret only differ here too; the digest is
/// kept on disk and not shown, since a short secret could be guessed from it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The digest's bytes, to store them.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A digest read back from disk.
    pub const fn from_stored(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Fingerprint {
    /// The first four bytes: enough to tell two apart in a log, too little to test guesses of a secret against.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(")?;
        for byte in self.0.iter().take(4) {
            write!(f, "{byte:02x}")?;
        }
        f.write_str("…)")
    }
}

impl Declaration {
    /// The fingerprint; equal exactly when [`Declaration::runs_the_same`], collisions of SHA-256 aside.
    ///
    /// The form that is hashed is part of what lasts on disk: it changes only with a new form tag, which makes every
    /// declaration count as changed once.
    pub fn fingerprint(&self) -> Fingerprint {
        // Taken apart without `..`, so that a new field can't be forgotten here.
        let Self {
            name,
            source,
            placement,
            command,
            env,
            config,
            provides,
            uses,
            limits,
            retry: _,
            shutdown_timeout,
        } = self;
        let mut form = Form(Sha256::new());
        form.text("treewarden.declaration/1");
        form.text(name.as_str());
        form.tag(match source {
            Source::File => 0,
            Source::Api => 1,
        });
        form.tag(match placement {
            Placement::Local => 0,
        });
        form.list(command, |form, argument| form.text(argument));
        form.number(env.len() as u64);
        for (key, value) in env {
            form.text(key);
            match value {
                EnvValue::Literal(text) => {
                    form.tag(0);
                    form.text(text);
                }
                EnvValue::File(path) => {
                    form.tag(1);
                    form.bytes(path.as_os_str().as_encoded_bytes());
                }
            }
        }
        form.json(config);
        form.list(provides, |form, service| form.text(service.as_str()));
        form.list(uses, |form, service| form.text(service.as_str()));
        let Limits {
            memory,
            processes,
            open_files,
            cpu,
        } = limits;
        for limit in [memory, processes, open_files, cpu] {
            match limit {
                None => form.tag(0),
                Some(limit) => {
                    form.tag(1);
                    form.number(*limit);
                }
            }
        }
        form.number(shutdown_timeout.as_secs());
        form.number(u64::from(shutdown_timeout.subsec_nanos()));
        Fingerprint(form.0.finalize().into())
    }
}

/// Writes values so that no two different ones give the same bytes: each is tagged, or its length goes first.
struct Form(Sha256);

impl Form {
    fn tag(&mut self, tag: u8) {
        self.0.update([tag]);
    }

    fn number(&mut self, number: u64) {
        self.0.update(number.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.number(items.len() as u64);
        for item in items {
            each(self, item);
        }
    }

    /// Keys are sorted here: whether a map keeps the order it was written in is no difference.
    fn json(&mut self, value: &Value) {
        match value {
            Value::Null => self.tag(0),
            Value::Bool(false) => self.tag(1),
            Value::Bool(true) => self.tag(2),
            Value::Number(number) => {
                self.tag(3);
                // -0.0 equals 0.0, and so must have its form.
                let zero = number.is_f64() && number.as_f64() == Some(0.0);
                if zero {
                    self.text("0.0")
                } else {
                    self.text(&number.to_string())
                }
            }
            Value::String(text) => {
                self.tag(4);
                self.text(text);
            }
            Value::Array(items) => {
                self.tag(5);
                self.list(items, Self::json);
            }
            Value::Object(map) => {
                self.tag(6);
                let mut members: Vec<(&String, &Value)> = map.iter().collect();
                members.sort_by_key(|(key, _)| *key);
                self.list(&members, |form, (key, value)| {
                    form.text(key);
                    form.json(value);
                });
            }
        }
    }
}

#[cfg(test)]
mod tests;
