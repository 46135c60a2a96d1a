//! What lasts: the node's data directory.
//!
//! Two things lie in it, each with a writer thread of its own:
//!
//! - `launches.log`, append-only, the truth about numbers that must never be given twice (SUP-13) and about launches that have not ended
//!   (SUP-17). Recording a launch is one append and one `fdatasync`, and the only durable step on the way to a running process.
//! - `db/`, the database behind the [`Store`] trait: how executions ended, what is wanted of entries (SUP-39), tokens.
//!
//! ```text
//!             ┌─ record_launch ──▶ log thread:   append │ fdatasync │ answer        launches.log
//! StoreHandle ┤                       ▲ ended, witness (no sync of their own)
//!             └─ record_end, … ──▶ store thread: decide │ batch │ flush │ fdatasync │ answer   db/
//! ```
//!
//! The log also holds the number of a recent synced group, the witness: a database that opens behind it lost something and is refused (SUP-19).
//! What a caller is told to be done is on disk. After a failed write or sync the store takes no more (SUP-38).

mod codec;
mod desired;
mod error;
mod handle;
mod health;
mod identity;
mod launch;
mod launches;
mod open;
mod options;
mod sled_store;
mod stop;
mod store;
mod system;
mod token;
mod writer;

pub use desired::{Desired, DesiredState, Fingerprint};
pub use error::{DamagedRow, OpenError, StoreError};
pub use handle::StoreHandle;
pub use health::{StoreHealth, StoreStatistics};
pub use identity::{CounterJump, GroupNumber, Identity};
pub use launch::{LaunchRecord, LaunchRecordKey};
pub use open::{Opened, open};
pub use options::{OpenOptions, STORAGE_FLOOR};
pub use sled_store::SledStore;
pub use stop::{RecordedStop, STOPS_KEPT};
pub use store::{
    Command, Committed, PAGE_MAX, Page, PageRequest, Reply, Store, StoredNumbers, WalkPosition,
};
pub use token::{Operations, Token, TokenHash, TokenId};
