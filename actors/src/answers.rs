//! What those who ask the node are told: the types between `actors` and `api`.

use serde_json::value::RawValue;
use treewarden_model::name::EntryName;
use treewarden_model::outcome::StopResult;
use treewarden_model::status::EntryStatus;

/// Answer to `start`.
#[derive(Debug, Clone)]
pub enum Started {
    /// It serves.
    Running(Box<EntryStatus>),
    /// It does not serve yet after [`crate::limits::START_ANSWER`]; it goes on (202).
    Pending(Box<EntryStatus>),
}

/// Answer to `restart`.
#[derive(Debug, Clone)]
pub struct Restarted {
    /// How the old launch ended; `None`: nothing ran.
    pub stop: Option<StopResult>,
    /// Whether the new one serves, else why not.
    pub started: Result<(), String>,
}

/// Why a verb was not done.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EntryError {
    /// No such entry.
    #[error("there is no entry {0}")]
    NotFound(String),
    /// SUP-12: the exit of its last launch is not confirmed.
    #[error("the exit of launch {} of {} is not confirmed: it may still be running", .0.launch, .0.entry)]
    Unconfirmed(Box<StopResult>),
    /// It is being removed.
    #[error("entry {0} is being removed")]
    Removing(EntryName),
    /// The node shuts down.
    #[error("the node is shutting down")]
    ShuttingDown,
    /// Somebody asked for the opposite meanwhile.
    #[error("a later request stopped entry {0}")]
    Superseded(EntryName),
    /// It failed for good.
    #[error("entry {name} failed: {why}")]
    Failed {
        /// Which entry.
        name: EntryName,
        /// How.
        why: String,
    },
    /// Too many callers wait on this entry.
    #[error("too many requests wait for entry {name} (limit {limit})")]
    CapacityExhausted {
        /// Which entry.
        name: EntryName,
        /// The limit.
        limit: usize,
    },
    /// The store takes no more (SUP-38).
    #[error("the node's store failed: {0}")]
    StoreFailed(String),
}

/// Why a call was not answered with a result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// No such entry.
    #[error("there is no entry {0}")]
    NotFound(String),
    /// The entry is not declared to provide that service, or the plugin does not know the method.
    #[error("{0}")]
    Invalid(String),
    /// It does not serve now.
    #[error("service {service} of entry {entry} is not available: {why}")]
    Unavailable {
        /// Which entry.
        entry: EntryName,
        /// Which service.
        service: String,
        /// Why, in a sentence.
        why: String,
    },
    /// The plugin answered with an error of its own.
    #[error("the plugin answered with an error: {message}")]
    Plugin {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
        /// Its `data.kind`.
        kind: String,
        /// Its data.
        data: Option<serde_json::Value>,
    },
    /// The connection was lost before the answer; whether the plugin did it is not known.
    #[error("the connection to the plugin was lost before it answered")]
    ConnectionLost,
    /// No answer within the time-out.
    #[error("no answer within {0} ms")]
    DeadlineExceeded(u64),
    /// Too many calls wait.
    #[error("too many calls are in flight (limit {limit})")]
    CapacityExhausted {
        /// The limit.
        limit: usize,
    },
    /// SUP-16: not the current launch any more.
    #[error("the launch that was called is not the current one")]
    StaleGeneration,
    /// The node shuts down.
    #[error("the node is shutting down")]
    ShuttingDown,
}

/// A call's result.
pub type CallResult = Result<Box<RawValue>, CallError>;

/// What a reload did (SUP-01), each list sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadReport {
    /// New entries.
    pub started: Vec<EntryName>,
    /// Entries that are no longer declared.
    pub stopped: Vec<EntryName>,
    /// Entries whose declaration changed.
    pub replaced: Vec<EntryName>,
    /// Unchanged consumers of replaced ones.
    pub restarted: Vec<EntryName>,
    /// Left alone.
    pub unchanged: Vec<EntryName>,
}

/// Why a reload changed nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReloadError {
    /// The file is wrong; each line says where and how to mend it.
    #[error("the configuration was not reloaded: {}", .0.join("; "))]
    Config(Vec<String>),
    /// The node shuts down.
    #[error("the node is shutting down")]
    ShuttingDown,
    /// The actor that applied it died; whether it was applied is not known. Asking again is safe.
    #[error("the reload was interrupted; ask again")]
    Interrupted,
}

/// A line of an entry's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// When the node read it.
    pub time: treewarden_model::time::WallTime,
    /// `stderr`, or `log` for the protocol's structured log.
    pub stream: &'static str,
    /// The line, without its newline; invalid UTF-8 replaced.
    pub text: String,
}

/// Whether the node takes work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Yes.
    Ready,
    /// No, and why.
    NotReady(String),
}

/// Who stands behind a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The user.
    pub user: String,
    /// Operations of the token; `None`: all.
    pub operations: Option<Vec<String>>,
}

/// The node about itself.
#[derive(Debug, Clone)]
pub struct NodeInfo {
    /// Its id.
    pub node: treewarden_model::id::NodeId,
    /// Number of this start.
    pub session: treewarden_model::id::SessionNumber,
    /// When it started.
    pub started_at: treewarden_model::time::WallTime,
    /// Things an operator should know.
    pub warnings: Vec<String>,
}
