//! What runs: the clock, the keeper's client, plugin processes and the connection to them.
//!
//! Nothing here decides what should run, or when something ends: `actors` do, by the rules of `model`. What this room owns outlives any
//! actor: an actor that dies leaves no process without an owner (SUP-35).

pub mod clock;
pub mod connection;
pub mod keeper;
pub mod launcher;
pub mod local;
pub mod log_lines;
pub mod system;
pub mod task;
pub mod timers;

/// Processes as the keeper knows them: marks, leftovers, orphans, and what the kernel says of them.
pub use treewarden_keeper as processes;
/// The plugin protocol.
pub use treewarden_protocol as protocol;
