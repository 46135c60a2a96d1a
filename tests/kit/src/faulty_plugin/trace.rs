//! The trace: one JSON line an event, appended whole, so that several plugins may share one file.
//!
//! `{"t": CLOCK_BOOTTIME in ns, "event": …, "name": …, "pid": …, "launch": TREEWARDEN_LAUNCH, "detail": …}`. Events: `exec
//! initialize call cancel shutdown finalizer finalized stdin_eof sigterm exit`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

/// Where this plugin's events go.
#[derive(Debug)]
pub(crate) struct Trace {
    file: Option<File>,
    name: String,
    launch: Value,
}

impl Trace {
    /// Opens the trace for appending.
    pub(crate) fn open(path: Option<&Path>, name: &str) -> Self {
        let open = |path: &Path| {
            File::options()
                .create(true)
                .append(true)
                .open(path)
                .expect("the trace file opens")
        };
        let launch = std::env::var("TREEWARDEN_LAUNCH").map_or(Value::Null, Value::from);
        Self {
            file: path.map(open),
            name: name.to_owned(),
            launch,
        }
    }

    /// Appends one event.
    pub(crate) fn event(&self, event: &str, detail: &Value) {
        let Some(mut file) = self.file.as_ref() else {
            return;
        };
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let t = now.tv_sec * 1_000_000_000 + now.tv_nsec;
        let line = json!({
            "t": t, "event": event, "name": self.name, "pid": std::process::id(), "launch": self.launch, "detail": detail,
        });
        // One write of one line: appends of several processes do not mix.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}
