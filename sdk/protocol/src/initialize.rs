//! `initialize`: who the plugin is, and what it offers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{Generation, LaunchNumber};
use crate::{MAX_IN_FLIGHT, MAX_LINE, PROTOCOL};

/// Parameters of `initialize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InitializeParams {
    /// [`PROTOCOL`]; a plugin refuses another.
    pub protocol: String,
    /// What this launch runs as.
    pub instance: Identity,
    /// The host's number of the launch.
    #[serde(default)]
    pub launch: LaunchNumber,
    /// What is run.
    #[serde(default)]
    pub plugin: PluginIdentity,
    /// The entry's `config`, any JSON; null where there is none.
    #[serde(default)]
    pub config: Value,
    /// Services the plugin may call (its `uses`).
    #[serde(default)]
    pub services: Vec<String>,
    /// Bounds of the connection.
    #[serde(default)]
    pub limits: Limits,
}

impl InitializeParams {
    /// Parameters of this protocol version for an instance; everything else empty.
    #[must_use]
    pub fn new(instance: Identity, launch: LaunchNumber) -> Self {
        Self {
            protocol: PROTOCOL.to_owned(),
            instance,
            launch,
            plugin: PluginIdentity::default(),
            config: Value::Null,
            services: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// An instance: `{id, generation}` (SUP-14).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// A UUID, or the instance's name on a runner, or `local`.
    pub id: String,
    /// The fencing token.
    pub generation: Generation,
}

impl Identity {
    /// What a plugin run by hand, outside any node, reads: `local`, 0 (SUP-14).
    #[must_use]
    pub fn outside_any_node() -> Self {
        Self {
            id: "local".to_owned(),
            generation: Generation::new(0),
        }
    }
}

/// The plugin a launch runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginIdentity {
    /// The entry's name, or the id of the package.
    pub id: String,
    /// The version of the package; null for a plain entry.
    pub version: Option<String>,
}

/// Bounds of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Most bytes of a line.
    pub frame_bytes: usize,
    /// Most requests the host has open.
    pub in_flight: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_bytes: MAX_LINE,
            in_flight: MAX_IN_FLIGHT,
        }
    }
}

/// Result of `initialize`. What was declared and is missing here fails the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InitializeResult {
    /// The services provided, with their methods.
    pub provides: BTreeMap<String, Vec<String>>,
    /// The hook and event handlers.
    pub handlers: Vec<String>,
}
