//! SIGTERM: traced, then ignored or died of.

use std::sync::Arc;

use nix::sys::signal::{SigSet, Signal};
use serde_json::Value;

use crate::state::Plugin;

/// Waits for SIGTERM on a thread of its own. Called before any other thread exists, so that all of them block it.
pub(crate) fn watch(plugin: &Arc<Plugin>) {
    let term = SigSet::from_iter([Signal::SIGTERM]);
    term.thread_block().expect("SIGTERM can be blocked");
    let plugin = Arc::clone(plugin);
    std::thread::spawn(move || {
        loop {
            if term.wait().is_err() {
                continue;
            }
            plugin.trace.event("sigterm", &Value::Null);
            if !plugin.faults.on("ignore-term") {
                term.thread_unblock().expect("SIGTERM can be unblocked");
                let _ = nix::sys::signal::raise(Signal::SIGTERM);
            }
        }
    });
}
