//! Entries for a configuration file, and the file.

use serde_json::{Map, Value, json};

/// An entry as `treewarden.yaml` declares it, built in steps. Runs `faulty-plugin` unless told otherwise.
#[derive(Debug, Clone)]
pub struct Entry {
    name: String,
    arguments: Vec<String>,
    command: Option<Vec<String>>,
    provides: Vec<String>,
    uses: Vec<String>,
    keys: Map<String, Value>,
}

impl Entry {
    /// An entry that runs a well-behaved `faulty-plugin`.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            arguments: Vec::new(),
            command: None,
            provides: Vec::new(),
            uses: Vec::new(),
            keys: Map::new(),
        }
    }

    /// Gives the plugin a switch, such as `ignore-shutdown` or `exit=3@50`.
    #[must_use]
    pub fn fault(mut self, switch: &str) -> Self {
        self.arguments.push(format!("--{switch}"));
        self
    }

    /// Runs another program.
    #[must_use]
    pub fn command(mut self, command: &[&str]) -> Self {
        self.command = Some(command.iter().map(|&part| part.to_owned()).collect());
        self
    }

    /// Provides a service.
    #[must_use]
    pub fn provides(mut self, service: &str) -> Self {
        self.provides.push(service.to_owned());
        self
    }

    /// Uses a service.
    #[must_use]
    pub fn uses(mut self, service: &str) -> Self {
        self.uses.push(service.to_owned());
        self
    }

    /// Sets another key of the entry.
    #[must_use]
    pub fn key(mut self, key: &str, value: Value) -> Self {
        self.keys.insert(key.to_owned(), value);
        self
    }

    /// Never starts again by itself.
    #[must_use]
    pub fn no_retry(self) -> Self {
        self.key("retry", json!("none"))
    }

    /// The entry's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What stands under `entries.NAME`; `trace` is where the plugin leaves its trace.
    pub(crate) fn declaration(&self, trace: &str) -> Value {
        let plugin = || {
            let mut command = vec![crate::binaries::faulty_plugin().display().to_string()];
            command.extend([
                "--name".into(),
                self.name.clone(),
                "--trace".into(),
                trace.into(),
            ]);
            if !self.provides.is_empty() {
                command.extend(["--provides".into(), self.provides.join(",")]);
            }
            if !self.uses.is_empty() {
                command.extend(["--uses".into(), self.uses.join(",")]);
            }
            command.extend(self.arguments.iter().cloned());
            command
        };
        let mut all = Map::new();
        all.insert("run".into(), json!("local"));
        all.insert(
            "command".into(),
            json!(self.command.clone().unwrap_or_else(plugin)),
        );
        if !self.provides.is_empty() {
            all.insert("provides".into(), json!(self.provides));
        }
        if !self.uses.is_empty() {
            all.insert("uses".into(), json!(self.uses));
        }
        all.extend(self.keys.clone());
        Value::Object(all)
    }
}

/// A configuration file of these entries. JSON is YAML, so nothing needs quoting by hand.
pub fn config(entries: &[Entry], trace: &str) -> String {
    let declared: Map<String, Value> = entries
        .iter()
        .map(|entry| (entry.name.clone(), entry.declaration(trace)))
        .collect();
    serde_json::to_string_pretty(&json!({ "entries": declared })).expect("a JSON value is written")
}
