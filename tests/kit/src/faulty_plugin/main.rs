//! A plugin that does wrong on request: every fault of a plugin process that a node must survive (SUP-29).
//!
//! It speaks `treewarden.plugin/1` by hand, without an SDK, so that nothing keeps it from breaking the protocol.
//!
//! ```text
//! faulty-plugin --name N [--provides A,B] [--uses C] [--trace FILE] [--FAULT[=VALUE]]…
//! ```
//!
//! Faults are listed in [`faults::KNOWN`]. A fault given on the command line is in force from the start (acts are
//! carried out once `initialize` is answered); the method `set {fault, value?}` switches one on in a running plugin.
//! Every step leaves a line in the trace file: see [`trace`].

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::let_underscore_must_use,
    reason = "test code: a plugin made to fail"
)]

mod acts;
mod descendants;
mod faults;
mod lifecycle;
mod methods;
mod options;
mod signals;
mod state;
mod trace;
mod wire;

use std::sync::Arc;

use crate::state::Plugin;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((role, rest)) = descendants::role(&arguments) {
        descendants::play(role, rest);
    }
    let at_exec = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let plugin = Arc::new(Plugin::new(options::parse(&arguments), at_exec));
    signals::watch(&plugin);
    plugin.trace.event("exec", &serde_json::Value::Null);
    if let Some(code) = plugin.faults.number("exit-at-once") {
        plugin.leave(code);
    }
    lifecycle::run(&plugin);
}
