//! What all parts of the plugin share.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock, mpsc};

use serde_json::{Value, json};

use crate::faults::Faults;
use crate::options::Options;
use crate::trace::Trace;

/// The plugin.
#[derive(Debug)]
pub(crate) struct Plugin {
    /// The name in the trace.
    pub(crate) name: String,
    /// Services provided.
    pub(crate) provides: Vec<String>,
    /// Services used, as declared on the command line.
    pub(crate) uses: Vec<String>,
    /// Faults in force.
    pub(crate) faults: Faults,
    /// The trace.
    pub(crate) trace: Trace,
    /// The trace's path, handed on to descendants so that the process list shows whose they are.
    pub(crate) trace_path: String,
    /// `/proc/self/status` as the program found it.
    pub(crate) status_at_exec: String,
    /// Parameters of `initialize`.
    pub(crate) initialize: Mutex<Value>,
    /// Own requests to the host that wait for an answer.
    pub(crate) pending: Mutex<HashMap<u64, mpsc::Sender<Value>>>,
    /// Next id of an own request.
    pub(crate) next_id: AtomicU64,
    /// Ids of calls that the host has cancelled.
    pub(crate) cancelled: Mutex<HashSet<String>>,
    /// How the finalizers ended; whoever else wants to run them waits for that.
    pub(crate) finalized: OnceLock<Result<(), Value>>,
}

impl Plugin {
    /// A plugin by its command line.
    pub(crate) fn new(options: Options, status_at_exec: String) -> Self {
        let Options {
            name,
            provides,
            uses,
            trace,
            faults,
        } = options;
        Self {
            trace: Trace::open(trace.as_deref(), &name),
            trace_path: trace
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
            name,
            provides,
            uses,
            faults,
            status_at_exec,
            initialize: Mutex::default(),
            pending: Mutex::default(),
            next_id: AtomicU64::new(1),
            cancelled: Mutex::default(),
            finalized: OnceLock::new(),
        }
    }

    /// Ends the process, with a last line in the trace.
    pub(crate) fn leave(&self, code: i32) -> ! {
        self.trace.event("exit", &json!({ "code": code }));
        std::process::exit(code)
    }
}
